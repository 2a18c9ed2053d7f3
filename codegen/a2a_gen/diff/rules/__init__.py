"""The rules, one file per family: each rule with its level, and the comparison that finds it. The table is in ``table.py``."""
