"""Refactorings of our own schemas that must not yield findings."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.diff.sides import build_side_of_files, diff, list_rule_ids

SCHEMA = Path(__file__).parents[3] / "schema"
TREE = {
    path.relative_to(SCHEMA).as_posix(): json.loads(path.read_bytes())
    for path in SCHEMA.rglob("*.json")
    if "examples" not in path.parts
}
Tree = dict[str, dict]


def list_types(tree: Tree, file: str) -> dict:
    """Return the definitions of a file."""
    return tree[file]["$defs"]


def inline_a_reference(tree: Tree) -> None:
    """Inline the state of a task instead of referring to it."""
    task = list_types(tree, "v1_0/task.json")
    task["TaskStatus"]["properties"]["state"] = {
        **task["TaskState"],
        "x-proto": {"number": 1},
        "description": "The state itself.",
    }
    task["TaskStatus"]["properties"]["state"].pop("x-proto")
    task["TaskStatus"]["properties"]["state"]["x-proto"] = {"number": 1}


def extract_a_definition(tree: Tree) -> None:
    """Move an inline schema to a named definition."""
    task = list_types(tree, "v1_0/task.json")
    history = task["Task"]["properties"]["history"]
    proto = history.pop("x-proto")
    task["History"] = history
    task["Task"]["properties"]["history"] = {"$ref": "#/$defs/History", "x-proto": proto}


def split_into_all_of(tree: Tree) -> None:
    """Split the members of a task into two branches of an allOf."""
    task = list_types(tree, "v1_0/task.json")
    whole = task["Task"]
    names = list(whole["properties"])
    halves = [
        {"properties": {name: whole["properties"][name] for name in half}}
        for half in (names[:3], names[3:])
    ]
    task["Task"] = {
        **{word: value for word, value in whole.items() if word != "properties"},
        "allOf": halves,
    }


def flatten_all_of(tree: Tree) -> None:
    """Refer to a definition through an allOf of one."""
    for definition in list_types(tree, "v1_0/message.json").values():
        for name, value in definition.get("properties", {}).items():
            if "$ref" in value:
                definition["properties"][name] = {
                    **{word: each for word, each in value.items() if word != "$ref"},
                    "allOf": [{"$ref": value["$ref"]}],
                }


def reverse_members(tree: Tree) -> None:
    """Reverse the order of keys in every object of every file."""

    def reverse_keys(data: object) -> object:
        if isinstance(data, dict):
            return {key: reverse_keys(data[key]) for key in reversed(data)}
        if isinstance(data, list):
            return [reverse_keys(each) for each in data]
        return data

    for path in tree:
        if "/" in path:
            tree[path] = reverse_keys(tree[path])


def reorder_sets(tree: Tree) -> None:
    """Reverse required members and branches of unions."""
    for path, data in tree.items():
        for definition in data.get("$defs", {}).values() if not path.startswith("meta") else ():
            for word in ("required", "oneOf", "anyOf"):
                if isinstance(definition.get(word), list):
                    definition[word].reverse()


def constants_as_enumerations(tree: Tree) -> None:
    """Write every constant as an enumeration of one value."""

    def rewrite_constants(data: object) -> object:
        if isinstance(data, dict):
            return {
                ("enum" if key == "const" else key): (
                    [value] if key == "const" else rewrite_constants(value)
                )
                for key, value in data.items()
            }
        if isinstance(data, list):
            return [rewrite_constants(each) for each in data]
        return data

    for path in tree:
        if path.startswith("v0_3/"):
            tree[path] = rewrite_constants(tree[path])


def rename_a_definition(tree: Tree) -> None:
    """Rename a definition and every reference to it."""
    text = json.dumps(tree["v1_0/task.json"]).replace('"TaskStatus"', '"Status"')
    tree["v1_0/task.json"] = json.loads(text)
    for path in tree:
        if path.startswith("v1_0/"):
            tree[path] = json.loads(
                json.dumps(tree[path]).replace('#/$defs/TaskStatus"', '#/$defs/Status"')
            )


def move_a_definition(tree: Tree) -> None:
    """Move a definition to a file of its own."""
    moved = list_types(tree, "v1_0/task.json").pop("Artifact")
    tree["v1_0/artifact.json"] = {"$defs": {"Artifact": moved}}
    for path in tree:
        if path.startswith("v1_0/"):
            text = json.dumps(tree[path]).replace(
                'task.json#/$defs/Artifact"', 'artifact.json#/$defs/Artifact"'
            )
            tree[path] = json.loads(
                text.replace('"#/$defs/Artifact"', '"artifact.json#/$defs/Artifact"')
                if path == "v1_0/task.json"
                else text
            )


def reword_descriptions(tree: Tree) -> None:
    """Change every description."""
    for path in tree:
        if "/" in path and not path.startswith("meta"):
            tree[path] = json.loads(
                re.sub(r'"description": "(?=[^"])', '"description": "Now: ', json.dumps(tree[path]))
            )


def respell_null(tree: Tree) -> None:
    """Spell a nullable id in each of the other ways."""
    for definition in list_types(tree, "v0_3/jsonrpc.json").values():
        spelled = definition.get("properties", {}).get("id", {})
        if isinstance(spelled.get("type"), list):
            kinds = spelled.pop("type")
            spelled["anyOf"] = [{"type": kind} for kind in kinds if kind != "null"] + (
                [{"enum": [None]}] if "null" in kinds else []
            )


def add_vacuous_keywords(tree: Tree) -> None:
    """Add keywords without effect."""
    for path, data in tree.items():
        for definition in data.get("$defs", {}).values() if not path.startswith("meta") else ():
            if definition.get("type") == "object" and "additionalProperties" not in definition:
                definition |= {"additionalProperties": True, "minProperties": 0}


REFACTORINGS = [
    inline_a_reference,
    extract_a_definition,
    split_into_all_of,
    flatten_all_of,
    reverse_members,
    reorder_sets,
    constants_as_enumerations,
    rename_a_definition,
    move_a_definition,
    reword_descriptions,
    respell_null,
    add_vacuous_keywords,
]
KEEP_NAMES = [
    each
    for each in REFACTORINGS
    if each not in {extract_a_definition, rename_a_definition, move_a_definition, split_into_all_of}
]


@pytest.mark.parametrize("refactoring", REFACTORINGS, ids=lambda each: each.__name__)
def test_a_refactoring_is_no_change(refactoring: Callable[[Tree], None]) -> None:
    """A schema that is written differently and equal in meaning yields no finding on the wire."""
    tree = copy.deepcopy(TREE)
    refactoring(tree)
    assert tree != TREE or json.dumps(tree) != json.dumps(TREE)
    assert (
        list_rule_ids(
            diff(
                build_side_of_files(TREE, is_plain=False), build_side_of_files(tree, is_plain=False)
            )
        )
        == []
    )


@pytest.mark.parametrize(
    "refactoring",
    [each for each in KEEP_NAMES if each is not inline_a_reference],
    ids=lambda each: each.__name__,
)
def test_most_refactorings_keep_python_too(refactoring: Callable[[Tree], None]) -> None:
    """A refactoring that keeps names yields no finding in any profile."""
    tree = copy.deepcopy(TREE)
    refactoring(tree)
    assert (
        list_rule_ids(
            diff(
                build_side_of_files(TREE, is_plain=False),
                build_side_of_files(tree, is_plain=False),
                "FULL",
            )
        )
        == []
    )
