"""The oldest release of the framework that is bridged, in a process of its own: other signatures,
other errors, no approvals.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from integration.features.apcore.old_release import KEY
from integration.features.apcore.world import CARD, build_params, read_data, read_status
from peers.environments import interpreter
from style.source_files import ROOT

from a2a_runtime.testing.ports import find_free_port

RELEASE = "0.6.0"
HERE = "tests/integration/features/apcore"

pytestmark = [pytest.mark.peer, pytest.mark.requirement("apcore", "NFR-CMP-002")]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the process."""
    folder = link_release(tmp_path_factory.mktemp("release"))
    port = find_free_port()
    paths = [str(folder), *(str(Path(each).resolve()) for each in sys.path if each)]
    command = [sys.executable, str(Path(__file__).with_name("old_release.py")), str(port)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == RELEASE
    token = jwt.encode(
        {"sub": "ada", "iss": "tests", "aud": "tools", "exp": time.time() + 600, "team": "blue"},
        KEY,
    )
    headers = {"authorization": f"Bearer {token}"}
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30, trust_env=False
        ) as client:
            end = time.monotonic() + 60
            while not is_served(client):
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def link_release(folder: Path) -> Path:
    """Link the release into a folder, without the other packages of its environment."""
    environment = interpreter(f"apcore-{RELEASE}").parents[1]
    package = next(environment.glob("lib/python*/site-packages/apcore"))
    for each in (package, *package.parent.glob("apcore-*.dist-info")):
        (folder / each.name).symlink_to(each)
    return folder


MISSING = {
    "test_approvals.py": (  # there are none
        "test_a_pending_approval_is_a_question",
        "test_a_rejected_approval_fails_the_task",
        "test_a_caller_cannot_bring_an_approval_along",
        "test_a_module_may_ask_for_input_itself",
    ),
    "test_calls.py": (
        # a property that is missing has another code
        "test_an_input_that_does_not_match_becomes_no_task",
        "test_a_call_has_a_limit_in_time",  # in other words
    ),
    "test_cards.py": (
        "test_modules_come_and_go_while_they_are_served",
        "test_files_that_change_are_loaded_again",
    ),  # with plain schemas
    "test_old_release.py": ("test_the_whole_bridge_works_with_it",),
}
"""Tests of what this release does not have."""


@pytest.mark.soak(share="frameworks")
def test_the_whole_bridge_works_with_it(tmp_path: Path) -> None:
    """All tests of the bridge, but those of what the release does not have."""
    left_out = [
        f"--deselect={HERE}/{file}::{name}" for file, names in MISSING.items() for name in names
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        HERE,
        *left_out,
    ]
    environment = {**os.environ, "PYTHONPATH": str(link_release(tmp_path))}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout[-5000:]


def is_served(client: httpx.Client) -> bool:
    """Return whether the process serves its card."""
    try:
        return client.get(CARD).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def rpc(client: httpx.Client, method: str, params: object) -> dict[str, Any]:
    """Send one request."""
    found: dict[str, Any] = client.post(
        "/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    ).json()
    return found


def send(
    client: httpx.Client, skill: str, value: object, **configuration: object
) -> dict[str, Any]:
    """Send a message."""
    return rpc(
        client, "message/send", {**build_params(skill, value), "configuration": configuration}
    )


def test_its_modules_are_skills(old: httpx.Client) -> None:
    """Those that the rules deny to anonymous callers are on the extended card only."""
    skills = {each["id"]: each for each in old.get(CARD).json()["skills"]}
    assert "secret.add" not in skills
    assert skills["math.add"]["tags"] == ["math"]
    assert skills["math.add"]["extensions"]["apcore"]["annotations"]["readonly"]


def test_a_call_has_an_identity(old: httpx.Client) -> None:
    """A module of the old release sees the caller and the claims of the token."""
    result = read_data(send(old, "math.add", {"a": 1, "b": 2})["result"])
    assert (result["total"], result["by"], result["claims"]["team"]) == (3, "ada", "blue")


def test_json_in_a_text_is_an_input(old: httpx.Client) -> None:
    """The old release takes JSON in a text as input, as the newest one does."""
    assert read_data(send(old, "math.add", '{"a": 4, "b": 2}')["result"])["total"] == 6


def test_errors_of_an_input_have_their_fields(old: httpx.Client) -> None:
    """Though their form is another one."""
    error = send(old, "math.add", {"a": "x"})["error"]
    assert (error["code"], error["data"]["type"]) == (-32602, "SchemaValidationError")
    assert [each["field"] for each in error["data"]["errors"]] == ["a", "b"]


def test_an_unknown_module_is_an_unknown_skill(old: httpx.Client) -> None:
    """The error of an unknown module contains its name."""
    assert send(old, "gone.away", {})["error"]["message"] == "Skill not found: gone.away"


def test_a_denied_call_tells_nothing(old: httpx.Client) -> None:
    """This release does not ask its rules when it validates."""
    error = send(old, "secret.add", {"a": 1, "b": 2})["error"]
    assert (error["code"], error["message"]) == (-32001, "Task not found")


def test_an_exception_is_an_internal_error(old: httpx.Client) -> None:
    """This release raises it as it is."""
    task = send(old, "error.raise", {})["result"]
    assert (task["status"]["state"], read_status(task)) == ("failed", "Internal error")
    assert "passwd" not in str(task)


def test_chunks_are_streamed(old: httpx.Client) -> None:
    """Chunks of the old release arrive one by one."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "message/stream",
        "params": build_params("count.up_to", {"total": 3}),
    }
    lines = old.post("/", json=body).text.splitlines()
    events = [
        json.loads(line.removeprefix("data: "))["result"]
        for line in lines
        if line.startswith("data: ")
    ]
    assert [
        each["artifact"]["parts"][0]["data"] for each in events if each["kind"] == "artifact-update"
    ] == [{"at": 0}, {"at": 1}, {"at": 2}]


def test_a_cancel_reaches_the_module(old: httpx.Client, tmp_path: Path) -> None:
    """A cancellation reaches the module by the token in its context."""
    marker = tmp_path / "marker"
    task = send(old, "time.wait", {"file": str(marker)}, blocking=False)["result"]
    end = time.monotonic() + 30
    while rpc(old, "tasks/get", {"id": task["id"]})["result"]["status"]["state"] != "working":
        assert time.monotonic() < end
        time.sleep(0.01)
    assert rpc(old, "tasks/cancel", {"id": task["id"]})["result"]["status"]["state"] == "canceled"
    while not marker.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_module_that_comes_is_a_skill(old: httpx.Client) -> None:
    """Registered in a thread of the executor."""
    assert send(old, "more.register", {})["result"]["status"]["state"] == "completed"
    end = time.monotonic() + 30
    while "more.count" not in old.get(CARD).text:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert read_data(send(old, "more.count", {"total": 2})["result"]) == {"numbers": [0, 1]}
