"""Remote agents: their cards, the schemas that these name, and clients for them."""
