"""How results look: plain numbers, and tables for people."""
