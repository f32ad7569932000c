"""Read tables and logs of the user: files, columns, units, off-policy values."""
