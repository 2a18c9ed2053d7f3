"""``docs/rules.md``, written from the table of rules: ``python -m a2a_gen.diff.rules.document > docs/rules.md``."""

from __future__ import annotations

import sys

from a2a_gen.diff.rules.rule import ChangeRule
from a2a_gen.diff.rules.table import TABLE

_HEAD = """# The rules of the gate

Every kind of change that `a2a-gen diff` knows, with its level for what the agent **reads** (requests, a skill's input, stored state), for what it
**writes** (responses, events, cards, a skill's output) and for the **source** that is generated. A definition that is used both ways takes the worse.
E is an error, W a warning, I an information, - nothing. Some rules are milder or stricter in a case that their text names. The mirror is the rule
for the way back.

This page is written from the table in `codegen/a2a_gen/diff/rules`; each rule has an example in `tests/rules/<id>`.
"""


def render_document() -> str:
    """Write the page."""
    lines = [_HEAD, "| code | id | area | effect | R | W | S | says | mirror |", "|---|---|---|---|---|---|---|---|---|"]
    lines += [_render_row(rule) for rule in TABLE.values()]
    waived = [f"- `{rule.id}`: {rule.waiver}." for rule in TABLE.values() if rule.waiver]
    cures = [f"- `{rule.id}`: {rule.cure}." for rule in TABLE.values()]
    return "\n".join([*lines, "", "## Rules without a mirror", "", *waived, "", "## What to do", "", *cures, ""])


def _render_row(rule: ChangeRule) -> str:
    letters = " | ".join(rule.levels.letters.split())
    says = rule.message.replace("{", "*").replace("}", "*").replace("|", "\\|")
    mirror = "itself" if rule.mirror == rule.id else f"`{rule.mirror}`" if rule.mirror else "none"
    return f"| {rule.code} | `{rule.id}` | {rule.area} | {rule.effect.value} | {letters} | {says} | {mirror} |"


if __name__ == "__main__":
    sys.stdout.write(render_document())
