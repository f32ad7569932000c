"""Play learners against games, replay them on logs, and run them in an application."""
