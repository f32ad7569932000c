"""Speed, measured beside C and other libraries."""
