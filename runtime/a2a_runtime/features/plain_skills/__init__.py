"""Skills as plain HTTP, for clients without the protocol."""
