"""References between files."""

import json
from collections.abc import Mapping

import pytest

from a2a_gen.source import references
from a2a_gen.source.documents import Document


def build_documents(refs: Mapping[str, tuple[str, ...]]) -> Mapping[str, Document]:
    """Build files, each with one type T that has some references."""
    tree = {
        path: {"$defs": {"T": {"oneOf": [{"$ref": ref} for ref in each]}}}
        for path, each in refs.items()
    }
    return {path: Document(path, json.dumps(data), data) for path, data in tree.items()}


@pytest.mark.parametrize(
    ("ref", "rule"),
    [
        pytest.param("#/$defs/T", None, id="same file"),
        pytest.param("b.json#/$defs/T", None, id="other file"),
        pytest.param("../up.json#/$defs/T", None, id="other folder"),
        pytest.param("../../up.json#/$defs/T", "A2A-R01", id="leaves the root"),
        pytest.param("/etc/passwd#/$defs/T", "A2A-R01", id="absolute"),
        pytest.param("c.json#/$defs/T", "A2A-R02", id="no file"),
        pytest.param("b.json", "A2A-R03", id="whole file"),
        pytest.param("#/$defs/T/oneOf/0", "A2A-R03", id="inside a type"),
        pytest.param("#/$defs/U", "A2A-R04", id="no type"),
        pytest.param(
            "https://example.org/a.json#/$defs/T", None, id="remote, which a rule refuses"
        ),
    ],
)
def test_unresolved(ref: str, rule: str | None) -> None:
    """A reference leads to a type of this contract, or is a problem at its place."""
    found = list(
        references.find_unresolved_references(
            build_documents({"a/a.json": (ref,), "a/b.json": (), "up.json": ()})
        )
    )
    assert [(problem.rule, problem.place.pointer) for problem in found] == (
        [(rule, "/$defs/T/oneOf/0/$ref")] if rule else []
    )


def test_property_called_ref() -> None:
    """A property named $ref is not a reference."""
    data = {
        "$defs": {
            "T": {"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "nowhere.json"}}
        }
    }
    assert list(references.iter_references(Document("a.json", json.dumps(data), data))) == []


def test_cycle() -> None:
    """A cycle of files is reported, with the reference that begins it."""
    found = list(
        references.find_file_cycles(
            build_documents(
                {
                    "a.json": ("b.json#/$defs/T",),
                    "b.json": ("#/$defs/T", "c.json#/$defs/T"),
                    "c.json": ("a.json#/$defs/T",),
                }
            )
        )
    )
    assert len(found) == 1
    place, text = found[0]
    files = text.partition(": ")[2].split(" -> ")
    assert (files[0], set(files)) == (files[-1], {"a.json", "b.json", "c.json"})
    assert (place.file, place.pointer.rpartition("/")[2]) == (files[0], "$ref")


def test_no_cycle() -> None:
    """Types of one file may refer to each other, and several files to one file."""
    assert not list(
        references.find_file_cycles(
            build_documents(
                {
                    "a.json": ("#/$defs/T", "c.json#/$defs/T"),
                    "b.json": ("a.json#/$defs/T", "c.json#/$defs/T"),
                    "c.json": (),
                }
            )
        )
    )
