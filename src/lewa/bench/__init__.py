"""Measure speed beside C and other libraries."""
