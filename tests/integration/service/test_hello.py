"""The agent of the README does what it says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from integration.service.conftest import Serve

from a2a_runtime.testing.agent import artifact_texts

pytestmark = pytest.mark.anyio

HELLO = Path(__file__).parents[3] / "examples" / "hello" / "agent.py"


async def test_hello_greets_and_spells(serve: Serve) -> None:
    """One skill answers, the other one streams a chunk for each letter."""
    async with serve(runpy.run_path(str(HELLO))["agent"]) as client:
        assert artifact_texts(await client.send("Ada", skill="greet")) == {
            "result": ["Hello, Ada!"]
        }
        chunks = [
            event.data.model.artifact_update for event in await client.stream("Ada", skill="spell")
        ]
        assert [chunk.artifact.parts[0].text for chunk in chunks if chunk] == ["A", "d", "a"]
