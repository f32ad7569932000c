"""What writes parts of the documentation: the site, docs/guarantees.md and docs/data.md."""
