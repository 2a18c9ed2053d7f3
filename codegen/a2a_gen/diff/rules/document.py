"""``docs/rules.md``, generated from the rule table: ``python -m a2a_gen.diff.rules.document >
docs/rules.md``.
"""

from __future__ import annotations

import sys

from a2a_gen.diff.rules.rule import ChangeRule
from a2a_gen.diff.rules.table import TABLE

_HEAD = """# Rules of the breaking-change check

Every kind of change that `a2a-gen diff` reports, with its level for schemas that the agent \
**reads** (requests, skill inputs, stored state), for
schemas that it **writes** (responses, events, cards, skill outputs) and for the generated \
**source**. A definition with both usages gets the higher
level. E is an error, W a warning, I an information, - not reported. Some rules have another level \
in special cases. The mirror is the rule of the
reverse change.

This page is generated from the table in `codegen/a2a_gen/diff/rules`; each rule has an example \
in `tests/rules/<id>.json`.
"""


def render_document() -> str:
    """Render the page."""
    lines = [
        _HEAD,
        "| code | id | area | effect | R | W | S | message | mirror |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_render_row(rule) for rule in TABLE.values()]
    waived = [f"- `{rule.id}`: {rule.waiver}." for rule in TABLE.values() if rule.waiver]
    cures = [f"- `{rule.id}`: {rule.cure}." for rule in TABLE.values()]
    return "\n".join(
        [*lines, "", "## Rules without a mirror", "", *waived, "", "## Cures", "", *cures, ""]
    )


def _render_row(rule: ChangeRule) -> str:
    letters = " | ".join(rule.levels.letters.split())
    says = rule.message.replace("{", "*").replace("}", "*").replace("|", "\\|")
    mirror = f"`{rule.mirror}`" if rule.mirror else "none"
    if rule.mirror == rule.id:
        mirror = "itself"
    return (
        f"| {rule.code} | `{rule.id}` | {rule.area} | {rule.effect.value} | {letters} | {says} | "
        f"{mirror} |"
    )


if __name__ == "__main__":
    sys.stdout.write(render_document())
