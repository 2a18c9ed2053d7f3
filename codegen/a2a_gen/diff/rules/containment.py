"""Schemas as a whole: breaks that the containment oracle finds and that no other rule explains."""

from __future__ import annotations

from a2a_gen.diff.rules.rule import define_rule

NARROWED = define_rule(
    "A2A088 set-narrowed",
    "whole narrows E I I",
    "documents that were valid are now rejected",
    mirror="set-widened",
)
WIDENED = define_rule(
    "A2A089 set-widened",
    "whole widens I E I",
    "documents that were invalid are now valid",
    mirror="set-narrowed",
)

RULES = (NARROWED, WIDENED)
