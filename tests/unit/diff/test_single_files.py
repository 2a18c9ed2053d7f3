"""Single files: any names, JSON or YAML, and what is not a JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.diff.sides import ROOT, Run, git


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_two_files_of_different_names_are_two_versions(
    run: Run, tmp_path: Path, suffix: str
) -> None:
    """The roots of two files are compared, whatever the files are called."""
    old = tmp_path / f"old.{suffix}"
    new = tmp_path / f"new.{suffix}"
    old.write_text('{"type": "string"}')
    new.write_text('{"type": "string", "maxLength": 3}')
    code, output, _ = run("diff", old, new, "--plain")
    assert (code, "bound-set" in output, "definition-removed" in output) == (1, True, False)


def test_a_folder_of_yaml_schemas_is_compared(run: Run, tmp_path: Path) -> None:
    """Plain schemas may be YAML files of a folder."""
    for name, kind in (("old", "integer"), ("new", "number")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "size.yaml").write_text(f"type: {kind}\n")
    code, output, _ = run(
        "diff", tmp_path / "old", tmp_path / "new", "--plain", "--role", "written"
    )
    assert (code, "type-widened" in output) == (1, True)


@pytest.mark.parametrize(
    "text", ['{"openapi": "3.0.3", "paths": {}}', '{"swagger": "2.0", "paths": {}}']
)
def test_an_openapi_document_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    """An OpenAPI document is recognized, and the message says what to do."""
    file = tmp_path / "api.json"
    file.write_text(text)
    code, _, message = run("diff", file, file, "--plain")
    assert code == 2
    assert "an OpenAPI document, not a JSON Schema" in message
    assert "oasdiff" in message


def write(folder: Path, **files: object) -> Path:
    """Write schemas to a folder; return that of the order."""
    for name, schema in files.items():
        file = folder / name.replace("_", "/", 1)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".json").write_text(json.dumps(schema))
    return folder / "order.json"


def test_a_single_file_follows_references_to_its_neighbours(run: Run, tmp_path: Path) -> None:
    """Files that it refers to are compared with it, in other folders too; definitions without a
    reference are not.
    """
    order = {"properties": {"item": {"$ref": "common/item.json"}}}
    old = write(
        tmp_path / "old",
        order=order,
        common_item={"$ref": "#/$defs/I", "$defs": {"I": {"maxLength": 9}, "J": {"maxLength": 9}}},
        other={},
    )
    new = write(
        tmp_path / "new",
        order=order,
        common_item={"$ref": "#/$defs/I", "$defs": {"I": {"maxLength": 3}, "J": {"maxLength": 3}}},
        other=False,
    )
    code, output, _ = run("diff", old, new, "--plain", "--role", "read", "--format", "singleline")
    assert (code, output.count("error"), "common/item.json" in output) == (1, 1, True)


@pytest.mark.parametrize(
    "place",
    [
        {
            "properties": {"item": {"$ref": "#/definitions/item"}},
            "definitions": {"item": {"$ref": "common/item.json"}},
        },
        {"items": [{"$ref": "common/item.json"}], "additionalItems": False},
        {"items": [True], "additionalItems": {"$ref": "common/item.json"}},
        {"dependencies": {"a": {"$ref": "common/item.json"}, "b": ["c"]}},
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": "https://e.org/a#",
            "items": {"$ref": "https://e.org/a#/definitions/item"},
            "definitions": {"item": {"$ref": "common/item.json"}},
        },
    ],
    ids=["definitions", "a tuple", "additionalItems", "dependencies", "the id of draft-04"],
)
def test_references_in_keywords_of_older_drafts_are_followed(
    run: Run, tmp_path: Path, place: dict[str, object]
) -> None:
    """A change of a neighbour is seen, whatever keyword leads to it."""
    order = {"$schema": "http://json-schema.org/draft-07/schema#", **place}
    old, new = (
        write(tmp_path / name, order=order, common_item={"type": kind})
        for name, kind in (("old", "number"), ("new", "integer"))
    )
    code, output, _ = run("diff", old, new, "--plain", "--role", "read", "--format", "singleline")
    assert (code, "common/item.json" in output) == (1, True)


def test_a_missing_neighbour_is_reported(run: Run, tmp_path: Path) -> None:
    """A reference without a file is an error with its place."""
    order = write(tmp_path, order={"$ref": "gone.json"})
    code, _, message = run("diff", order, order, "--plain")
    assert code == 2
    assert "order.json:1" in message
    assert "gone.json" in message


def test_a_single_file_is_compared_with_a_commit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same file of the commit is the base, with its neighbours of that commit; other files of
    the folder are not compared.
    """
    git(tmp_path, "init", "-q", ".")
    order = write(
        tmp_path,
        order={"$ref": "common/item.json"},
        common_item={"maxLength": 9},
        other={"maxLength": 9},
    )
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    write(tmp_path, common_item={"maxLength": 3}, other={"maxLength": 3})
    monkeypatch.chdir(tmp_path)
    code, output, _ = run(
        "diff", "--against", "HEAD", order, "--plain", "--role", "read", "--format", "singleline"
    )
    assert (code, output.count("error"), "item.json" in output) == (1, 1, True)


def test_nullable_is_noted(run: Run, tmp_path: Path) -> None:
    """A keyword that looks as if it had an effect is named, with what to write instead."""
    file = write(tmp_path, order={"type": "string", "nullable": True})
    code, _, notes = run("diff", file, file, "--plain")
    assert code == 0
    assert "order.json:1" in notes
    assert "nullable has no effect" in notes


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("project", ("$defs", "AgentTable", "properties", "icon_url")),
        ("settings", ("properties", "cleanup_interval")),
    ],
    ids=["a key of a2a.toml", "a setting"],
)
def test_a_key_that_the_project_no_longer_reads_is_a_break(
    run: Run, tmp_path: Path, name: str, removed: tuple[str, ...]
) -> None:
    """The schemas of configurations have a comparison of their own in `make check`: as plain
    schemas that are read.
    """
    file = ROOT / "schema" / "meta" / f"{name}.schema.json"
    schema = json.loads(file.read_bytes())
    holder = schema
    for step in removed[:-1]:
        holder = holder[step]
    del holder[removed[-1]]
    (tmp_path / file.name).write_text(json.dumps(schema))
    code, output, _ = run("diff", file, tmp_path / file.name, "--plain", "--role", "read")
    assert (code, removed[-1] in output) == (1, True), output
    assert run("diff", file, file, "--plain", "--role", "read")[0] == 0


def test_a_witness_of_another_file_names_it(run: Run, tmp_path: Path) -> None:
    """A change is shown where it is written, and a document of the file that refers to it with the
    name of that file.
    """
    for version, item in (("old", {}), ("new", {"$ref": "parts.json#/$defs/part"})):
        (tmp_path / version).mkdir()
        (tmp_path / version / "order.json").write_text(json.dumps({"type": "array", "items": item}))
        (tmp_path / version / "parts.json").write_text(
            json.dumps({"$defs": {"part": {"dependentRequired": {"a": ["b"]}}}})
        )
    code, output, _ = run("diff", tmp_path / "old", tmp_path / "new", "--plain", "--role", "read")
    assert code == 1
    assert 'was accepted as order.json, now rejected: [{"a": null}]' in output
