"""Features: what an agent gets beyond the core.

Each is loaded only where it is used, and the core imports none of them.
"""
