"""Compare the speed with C and other libraries."""
