"""The schemas in ``skill_schemas/``, each with documents that fit and documents that do not, and a
judge that knows only the schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import jsonschema_rs

from a2a_gen.source.json_text import Json
from a2a_gen.source.yaml_text import parse
from a2a_gen.support.schema_nodes import ANNOTATIONS

FOLDER = Path(__file__).with_name("skill_schemas")


@dataclass(frozen=True)
class Case:
    """One schema."""

    name: str
    source: str
    files: dict[str, dict[str, Json]]
    accepted: list[Json]
    refused: list[Json]

    def judge(self) -> jsonschema_rs.Draft202012Validator:
        """Make a validator of the files as they are: it follows their references itself."""
        base = f"file:///{self.name}/"
        found = {base + path: data for path, data in self.files.items()}
        found |= {str(data["$id"]): data for data in self.files.values() if "$id" in data}
        validator: jsonschema_rs.Draft202012Validator = jsonschema_rs.validator_for(
            self.files["schema.json"],
            base_uri=f"{base}schema.json",
            registry=jsonschema_rs.Registry([*found.items()]),
            validate_formats=True,
            keywords=ANNOTATIONS,
        )
        return validator

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for path, data in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(json.dumps(data))


def cases() -> list[Case]:
    """Read every case."""
    return [_case(path) for path in sorted(FOLDER.glob("*.yaml"))]


def _case(path: Path) -> Case:
    data, mistakes = parse(path.read_text(encoding="utf-8"))
    assert mistakes == (), path
    assert isinstance(data, dict)
    files: dict[str, dict[str, Json]] = {"schema.json": data["schema"], **data.get("files", {})}  # type: ignore[dict-item]  # as every case has them
    return Case(path.stem, str(data["source"]), files, data["accepted"], data["refused"])  # type: ignore[arg-type]  # as above


# --- neighbours -----------------------------------------------------------------------------------

_OTHERS: tuple[Json, ...] = (None, True, 0, -1, 1.0, 10**30, 0.5, "", "x", [], {}, [None], {"x": 1})


def neighbours(value: Json) -> Iterator[Json]:
    """Change one thing in a document, in every way: a member or item gone, doubled, replaced by
    something of each kind, or one more.
    """
    yield from _OTHERS
    if isinstance(value, dict):
        yield {**value, "zz-unknown": None}
        for key in value:
            yield {name: each for name, each in value.items() if name != key}
            yield from ({**value, key: other} for other in neighbours(value[key]))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield [*value[:index], *value[index + 1 :]]
            yield [*value, item]
            yield from ([*value[:index], other, *value[index + 1 :]] for other in neighbours(item))
    elif isinstance(value, str):
        yield f"{value}x"
        yield value[:-1]


# --- comparing ------------------------------------------------------------------------------------


def same(one: Json, other: Json) -> bool:
    """Return whether two documents are equal; a timestamp has several spellings."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (
        isinstance(one, str)
        and isinstance(other, str)
        and _moment(one) == _moment(other) is not None
    )


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
