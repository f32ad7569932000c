"""Money per period: what a period is, how much of a budget is left in it, and at what price it is spent."""
