"""Rules, one module per family: each rule with its levels, and the comparison that finds it.

All rules are in ``table.py``.
"""
