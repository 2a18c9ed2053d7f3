"""A skill whose input is a tree, asked with wrong ones: the answers are cheap, and the agent goes
on.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from integration.serve_command import run_serve

from a2a_runtime.testing.ports import find_free_port

# The process is ended by the system where it computes for longer.
APP = """
import resource
from typing import Literal

from pydantic import BaseModel

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app

resource.setrlimit(resource.RLIMIT_CPU, (25, 25))


class And(BaseModel):
    op: Literal["and"]
    args: "list[str | And | Or]"


class Or(BaseModel):
    op: Literal["or"]
    args: "list[str | And | Or]"


class Find(BaseModel):
    where: str | And | Or


agent = Agent("finder", "Finds.", version="1")


@agent.skill()
def find(wish: Find) -> str:
    \"\"\"Finds.\"\"\"
    return "found"


app = create_app(agent)
"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the agent, which has a limit of processor time."""
    folder = tmp_path_factory.mktemp("finder")
    (folder / "app.py").write_text(APP)
    port = find_free_port()
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client,
        run_serve(
            folder,
            lambda: client.get("/livez"),
            httpx.TransportError,
            "app:app",
            "--port",
            str(port),
        ),
    ):
        yield client


def test_wrong_trees_are_refused_with_their_places_and_the_card_is_answered(
    agent: httpx.Client,
) -> None:
    """Deep and wide ones: the work does not double with each level."""
    deep: object = 1
    for _ in range(18):
        deep = {"op": "and", "args": [deep]}
    wide = {"op": "and", "args": [{"op": "or", "args": [1]}] * 20_000}
    for tree, place in ((deep, f"where{'.args[0]' * 18}"), (wide, "where.args[0].args[0]")):
        refused = agent.post("/skills/find", json={"where": tree})
        assert refused.status_code == 400
        assert place in refused.text
        assert agent.get("/.well-known/agent-card.json").json()["name"] == "finder"
    assert agent.post("/skills/find", json={"where": {"op": "or", "args": ["a"]}}).json() == "found"
