"""The documents by which an agent makes itself known, from one declaration.

cards ──────── bytes, with what HTTP caches go by; written once for each address
  │
documents ──── one per dialect, in one table, and the one that clients of all dialects can read
  │
declaration ── the canonical card, from what is declared in Python
mesh ───────── the card of a mesh surface, from the canonical one
addresses ──── where surfaces are reached from outside, as a registry has told it
"""
