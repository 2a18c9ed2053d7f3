"""Who is calling: what a request brings along to prove it, and who decides about it."""
