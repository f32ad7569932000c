"""Play learners against games, and replay them on tables and logs."""
