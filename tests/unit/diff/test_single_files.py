"""Single files: any names, JSON or YAML, and what is not a JSON Schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.diff.sides import Run


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_two_files_of_different_names_are_two_versions(run: Run, tmp_path: Path, suffix: str) -> None:
    """The roots of two files are compared, whatever the files are called."""
    old, new = tmp_path / f"old.{suffix}", tmp_path / f"new.{suffix}"
    old.write_text('{"type": "string"}')
    new.write_text('{"type": "string", "maxLength": 3}')
    code, output, _ = run("diff", old, new, "--plain")
    assert (code, "bound-set" in output, "definition-removed" in output) == (1, True, False)


def test_a_folder_of_yaml_schemas_is_compared(run: Run, tmp_path: Path) -> None:
    """Plain schemas may be YAML."""
    for name, kind in (("old", "integer"), ("new", "number")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "size.yaml").write_text(f"type: {kind}\n")
    code, output, _ = run("diff", tmp_path / "old", tmp_path / "new", "--plain", "--role", "written")
    assert (code, "type-widened" in output) == (1, True)


@pytest.mark.parametrize("text", ['{"openapi": "3.0.3", "paths": {}}', '{"swagger": "2.0", "paths": {}}'])
def test_an_openapi_document_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    """An OpenAPI document is recognized, and the message says what to do."""
    file = tmp_path / "api.json"
    file.write_text(text)
    code, _, message = run("diff", file, file, "--plain")
    assert code == 2
    assert "an OpenAPI document, not a JSON Schema" in message
    assert "oasdiff" in message
