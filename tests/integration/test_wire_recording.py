"""The wire, byte for byte: requests and responses of every operation, dialect, binding and error,
against those that were recorded before.

``pytest tests/integration/test_wire_recording.py --update`` records them again;
``recordings/compare.py OLD NEW`` tells what has changed.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from integration.recorded_scenarios import SCENARIOS
from integration.recording import FOLDER_NAME, fixed_inputs, record_app
from integration.recordings.compare import differences

FOLDER = Path(__file__).with_name(FOLDER_NAME)
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_wire_is_as_it_was_recorded(
    name: str,
    update: bool,  # noqa: FBT001 - a fixture
) -> None:
    """Every request is answered with the same status, headers and bytes as when it was recorded."""
    scenario = SCENARIOS[name]
    with fixed_inputs(name) as clock:
        async with scenario.app() as app, record_app(app, clock) as recorder:
            await scenario.record(recorder)
            text = recorder.text()
    path = FOLDER / f"{name}.http"
    if update:
        path.write_text(text, encoding="utf-8", newline="\n")
    expected = path.read_bytes().decode("utf-8")
    if text != expected:
        changes = difflib.unified_diff(
            expected.split("\n"), text.split("\n"), "recorded", "now", lineterm="", n=2
        )
        pytest.fail("\n".join(changes), pytrace=False)


def test_differences_in_text_are_listed(tmp_path: Path) -> None:
    """A changed text is listed; another status, code or member fails."""
    old, worded, broken = (tmp_path / name for name in ("old", "worded", "broken"))
    text = (
        "### a\n> GET /\n< 404\n< content-length: {length}\n<\n< "
        '{{"error":{{"code":{code},"message":"{message}"}}}}\n'
    )
    for folder, length, code, message in (
        (old, 10, 404, "one"),
        (worded, 20, 404, "three"),
        (broken, 10, 405, "one"),
    ):
        folder.mkdir()
        (folder / "a.http").write_text(
            text.format(length=length, code=code, message=message), encoding="utf-8", newline="\n"
        )
    assert [*differences(old, old)] == []
    assert [*differences(old, worded)] == [(True, "a.http: a: .error.message: 'one' -> 'three'")]
    assert [*differences(old, broken)] == [(False, "a.http: a: .error.code: 404 -> 405")]


def test_every_recording_has_its_scenario() -> None:
    """No file is left of a scenario that is gone."""
    assert {path.stem for path in FOLDER.glob("*.http")} == set(SCENARIOS)
