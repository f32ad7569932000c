"""Learners of other papers, and learners that ignore constraints or price them beforehand, for comparison."""
