"""The patch 1.0.1 of the protocol: its statuses of errors, and its media type."""
