"""EWA, and the boxes of the paper: repaired, and as printed."""
