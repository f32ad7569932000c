"""The status of an agent: verdicts, guarantees, assumptions, warnings and metrics."""
