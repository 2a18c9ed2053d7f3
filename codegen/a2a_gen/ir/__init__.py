"""Intermediate representation of a contract: its types, its builder, the Python names in it, and
its consistency checks.
"""
