"""The schema of the database, one file for each version, forward only; a file that has been released never changes."""
