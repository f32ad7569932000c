"""lewa in other people's libraries: gymnasium, river, the Open Bandit Pipeline. Nothing else here imports this room."""
