"""Retention of tasks of the mesh dialect: shorter than that of others, by a setting."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.features.project.loader import load_project
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

_SECONDS = 30.0


def call(client: TestClient[Any], method: str, params: object) -> dict[str, Any]:
    """Call a method and return the response."""
    response: dict[str, Any] = client.post(
        "/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    ).json()
    return response


def send_in_both(client: TestClient[Any]) -> str:
    """Send a message in the mesh dialect, as task m-1, and one in 1.0; return the id of the other
    task.
    """
    text = {"message": {"role": "user", "parts": [{"type": "text", "text": "x"}]}}
    assert (
        call(client, "tasks/send", {"id": "m-1", **text})["result"]["status"]["state"]
        == "completed"
    )
    sent = call(
        client,
        "SendMessage",
        {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}},
    )
    identifier: str = sent["result"]["task"]["id"]
    return identifier


def build_surface() -> Surface:
    """Build a surface with the mesh dialect and 1.0."""
    agent = Agent("mixed")
    agent.add("echo", lambda ctx: ctx.text)
    return Surface(agent, dialects=frozenset({"1.0", "mesh"}), gate=OpenGate())


@pytest.mark.parametrize("store", ["memory", "sqlite:///{}/tasks.db"])
def test_tasks_of_the_mesh_are_kept_for_a_shorter_time(store: str, tmp_path: Path) -> None:
    """A task of the mesh is gone after it, one of 1.0 on the same surface is not."""
    settings = Settings(mesh_task_retention=0.2, cleanup_interval=0.05)
    with TestClient(
        create_app(build_surface(), store=store.format(tmp_path), settings=settings)
    ) as client:
        other = send_in_both(client)
        deadline = time.monotonic() + _SECONDS
        while "error" not in call(client, "tasks/get", {"id": "m-1"}):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert call(client, "GetTask", {"id": other})["result"]["id"] == other


def test_without_the_setting_tasks_of_the_mesh_are_kept_as_long_as_others() -> None:
    """With 0, tasks of the mesh are deleted after the time of all tasks."""
    settings = Settings(mesh_task_retention=0, task_retention=0.2, cleanup_interval=0.05)
    with TestClient(create_app(build_surface(), settings=settings)) as client:
        other = send_in_both(client)
        deadline = time.monotonic() + _SECONDS
        while "error" not in call(client, "GetTask", {"id": other}):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert "error" in call(client, "tasks/get", {"id": "m-1"})


def test_the_default_is_that_of_other_producers(tmp_path: Path) -> None:
    """300 seconds; the project file has a key for it."""
    assert Settings().mesh_task_retention == 300
    (tmp_path / "handlers.py").write_text("def echo(ctx):\n    return ctx.text\n")
    (tmp_path / "a2a.toml").write_text(
        '[agent]\nname = "n"\ndescription = "d"\nversion = "1"\n[skills.echo]\ndescription = '
        '"d"\nhandler = "handlers:echo"\n'
        "[retention]\nmesh_tasks = 60\n"
    )
    assert load_project(tmp_path, {}).settings.mesh_task_retention == 60
