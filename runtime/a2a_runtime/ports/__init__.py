"""Ports: what can be plugged into the core, and the registry that names it."""
