"""Pages that list settings list all of them, with their defaults and descriptions."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping

import jsonschema_rs
from style.settings_table import PAGE, page_with_table
from style.source_files import ROOT

from a2a_runtime.settings import Settings

FORM: Mapping[str, object] = json.loads(
    (ROOT / "generated" / "a2a_contract" / "schemas" / "project.json").read_text()
)
ROW = re.compile(r"^\| `(A2A_[A-Z_]+)` \| (?:`([^`]*)`)? \| (.*) \|$", re.MULTILINE)


def test_every_setting_of_the_environment_is_listed() -> None:
    """The table of settings is made from their schema; run tests/style/settings_table.py to update
    it.
    """
    text = PAGE.read_text(encoding="utf-8")
    assert text == page_with_table(text)
    rows = ROW.findall(text)
    assert (
        Settings.from_environment({name: value for name, value, _ in rows if value}) == Settings()
    )


def test_every_setting_of_a_project_is_in_the_example() -> None:
    """The example holds every setting that its schema has."""
    text = re.findall(
        r"^```toml\n(.*?)^```", (ROOT / "docs" / "project.md").read_text(), re.MULTILINE | re.DOTALL
    )[0]
    jsonschema_rs.validator_for(dict(FORM)).validate(tomllib.loads(text))
    mentioned = set(re.findall(r"[a-z_0-9]+", text))
    assert sorted(set(_settings(FORM)) - mentioned) == []


def _settings(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for each in schema.values():
            yield from _settings(each)


def test_the_schema_of_a_project_knows_every_operation() -> None:
    """The operations with rates equal those of the contract: the schema repeats the names, because
    it is a separate file.
    """
    operations = json.loads((ROOT / "schema" / "operations.json").read_text())["operations"]
    names = json.loads((ROOT / "schema" / "meta" / "project.schema.json").read_text())["$defs"][
        "RatesTable"
    ]["properties"]["operations"]
    assert names["propertyNames"]["enum"] == ["*", *(each["name"] for each in operations)]
