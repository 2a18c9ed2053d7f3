"""The table of operator settings in the documentation, made from their schema."""

from __future__ import annotations

import json

from style.source_files import ROOT

from a2a_gen.emit.operator_settings import SCHEMA, render_table

PAGE = ROOT / "docs" / "serving.md"
BEGIN = (
    "<!-- settings: made from schema/meta/settings.schema.json by "
    "tests/style/settings_table.py -->\n"
)
END = "<!-- /settings -->"


def page_with_table(text: str) -> str:
    """Put the table into a page, between its marks."""
    head, _, rest = text.partition(BEGIN)
    schema = json.loads((ROOT / "schema" / SCHEMA).read_text(encoding="utf-8"))
    return f"{head}{BEGIN}\n{render_table(schema)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")))
