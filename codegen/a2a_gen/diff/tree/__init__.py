"""Schemas as the comparison sees them: nodes, their members and values, and the definitions of a
tree.
"""
