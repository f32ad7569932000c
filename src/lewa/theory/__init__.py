"""Every proved bound, evaluated for exactly these parameters; docs/theory.md has the statements and their proofs."""
