"""An agent that writes reports.

Its contract is generated from a2a.toml and schema/; the work is in handlers.py.
"""
