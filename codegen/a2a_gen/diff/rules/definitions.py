"""Named definitions: removed, added, renamed, moved to another file."""

from __future__ import annotations

from a2a_gen.diff.rules.rule import ITSELF, define_rule

REMOVED = define_rule(
    "A2A010 definition-removed",
    "definition none I I E",
    "{name} was removed",
    "keep it, deprecated, while code imports it",
    mirror="definition-added",
)
RENAMED = define_rule(
    "A2A011 definition-renamed",
    "definition none - - E",
    "{old} was renamed to {new} without other changes",
    mirror=ITSELF,
)
MOVED = define_rule(
    "A2A012 module-moved",
    "definition none - - W",
    "{name} moved from {old} to {new}; the package still exports it",
    mirror=ITSELF,
)
ADDED = define_rule(
    "A2A013 definition-added",
    "definition none I I I",
    "{name} was added",
    mirror="definition-removed",
)

RULES = (REMOVED, RENAMED, MOVED, ADDED)
