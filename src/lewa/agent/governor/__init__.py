"""The governor of an agent: its rule, its ledger of debts, and its status."""
