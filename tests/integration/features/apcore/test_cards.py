"""The card of a registry: skills, modes, examples, annotations, capabilities, and changes while it
is served.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from integration.features.apcore.world import (
    CARD,
    Add,
    AgentUnderTest,
    Count,
    Module,
    Shout,
    Slow,
    apcore,
    build_registry,
    build_world,
    run_agent,
)

from a2a_contract.v0_3 import AgentCard

pytestmark = pytest.mark.anyio


@pytest.fixture
async def agent() -> AsyncIterator[AgentUnderTest]:
    """The agent of the whole world."""
    async with run_agent(build_world()) as agent:
        yield agent


def find(card: dict[str, Any], skill: str) -> dict[str, Any]:
    """Find a skill on a card."""
    found: dict[str, Any] = next(each for each in card["skills"] if each["id"] == skill)
    return found


async def card_lists(agent: AgentUnderTest, skills: Sequence[str]) -> None:
    """Wait until the card lists these skills."""
    async with asyncio.timeout(30):
        # A card has no event to wait for.
        while await agent.skills() != list(skills):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.requirement("apcore", "FR-AGC-001", "FR-SKL-001", "FR-AGC-003")
async def test_the_card_is_that_of_the_registry(agent: AgentUnderTest) -> None:
    """It is valid, public, cacheable, and has a skill for each module, under its id and in its
    words.
    """
    response = await agent.http.get(CARD)
    card = response.json()
    AgentCard.model_validate(card)
    assert (card["name"], card["version"], card["description"]) == (
        "apcore-agent",
        "0.0.0",
        "apcore agent with 10 skills",
    )
    assert "application/json" in card["defaultInputModes"]
    assert "application/json" in card["defaultOutputModes"]
    assert card["url"].rstrip("/") == "http://agent"
    assert "max-age=300" in response.headers["cache-control"]
    assert response.headers["content-type"] == "application/json"
    add = find(card, "math.add")
    assert (add["name"], add["description"], add["tags"]) == (
        "Math Add",
        "Adds two numbers.",
        ["math", "pure"],
    )
    assert find(card, "count.up_to")["name"] == "Count Up To"


@pytest.mark.requirement("apcore", "FR-SKL-001")
async def test_a_module_without_a_description_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """The module is skipped with one warning, also when the list is read again."""
    registry = build_world()
    async with run_agent(registry) as agent:
        assert "silent.module" not in await agent.skills()
        registry.register("more.add", Add())
        await card_lists(
            agent,
            sorted(
                [
                    "more.add",
                    *(
                        each
                        for each in registry.list()
                        if each not in {"silent.module", "more.add"}
                    ),
                ]
            ),
        )
    assert caplog.text.count("module skipped: silent.module has no description") == 1


@pytest.mark.requirement("apcore", "FR-AGC-001")
async def test_the_config_of_the_registry_names_the_agent() -> None:
    """The name comes from the config of the registry, unless an option sets it."""
    config = apcore.Config(
        data={"project": {"name": "tools", "description": "Does sums.", "version": "2.1.0"}}
    )
    registry = apcore.Registry(config=config)
    registry.register("math.add", Add())
    async with run_agent(registry) as agent:
        card = await agent.card()
        assert (card["name"], card["description"], card["version"]) == (
            "tools",
            "Does sums.",
            "2.1.0",
        )
    async with run_agent(
        registry, name="mine", description="Mine.", version="3.0.0", url="https://tools.example.com"
    ) as agent:
        card = await agent.card()
        assert (card["name"], card["description"], card["version"], card["url"]) == (
            "mine",
            "Mine.",
            "3.0.0",
            "https://tools.example.com",
        )


@pytest.mark.requirement("apcore", "FR-SKL-002")
async def test_examples_are_the_inputs_of_the_first_ten(agent: AgentUnderTest) -> None:
    """As JSON texts, which clients of 0.3 can read; with their titles in the extension."""
    card = await agent.card()
    add = find(card, "math.add")
    assert add["examples"][:2] == ['{"a": 0, "b": 1}', '{"a": 1, "b": 1}']
    assert len(add["examples"]) == 10
    assert add["extensions"]["apcore"]["examples"][0] == {
        "name": "Case 0",
        "input": {"type": "text", "text": '{"a": 0, "b": 1}'},
    }
    assert find(card, "text.shout")["examples"] == []


@pytest.mark.requirement("apcore", "FR-SKL-003")
async def test_media_types_follow_the_schemas(agent: AgentUnderTest) -> None:
    """JSON with a schema, text for one text or without a schema, any file where the input has a
    URI.
    """
    card = await agent.card()
    modes = {each["id"]: (each["inputModes"], each["outputModes"]) for each in card["skills"]}
    assert modes["math.add"] == (["application/json"], ["application/json"])
    assert modes["text.shout"] == (
        ["application/json", "text/plain"],
        ["application/json", "text/plain"],
    )
    assert modes["plain.text"] == (["text/plain"], ["text/plain"])
    assert modes["file.open"][0] == ["application/json", "*/*"]


@pytest.mark.requirement("apcore", "FR-SKL-004")
async def test_annotations_are_an_extension_of_the_skill(agent: AgentUnderTest) -> None:
    """Five flags; a module without annotations has none."""
    card = await agent.card()
    assert find(card, "math.add")["extensions"]["apcore"]["annotations"] == {
        "readonly": True,
        "destructive": False,
        "idempotent": True,
        "requires_approval": False,
        "open_world": False,
    }
    assert "annotations" not in find(card, "text.shout").get("extensions", {}).get("apcore", {})


@pytest.mark.requirement("apcore", "FR-AGC-002")
@pytest.mark.parametrize(
    ("module", "push", "expected"), [(Add, False, (False, False)), (Count, True, (True, True))]
)
async def test_capabilities_are_computed(
    module: type[Module],
    push: bool,  # noqa: FBT001 - a case
    expected: tuple[bool, bool],
) -> None:
    """A registry streams if one of its modules does."""
    async with run_agent(build_registry(one__module=module()), push_notifications=push) as agent:
        capabilities = (await agent.card())["capabilities"]
        assert (capabilities["streaming"], capabilities["pushNotifications"]) == expected
        assert capabilities["stateTransitionHistory"] is False


@pytest.mark.requirement("apcore", "FR-AGC-005", "FR-OPS-003")
async def test_modules_come_and_go_while_they_are_served() -> None:
    """From another thread; the ETag changes, calls follow the list, and a run of a module that is
    gone completes.
    """
    slow = Slow()
    registry = build_registry(math__add=Add(), time__wait=slow)
    async with run_agent(registry) as agent:
        before = (await agent.http.get(CARD)).headers["etag"]
        threads = [
            threading.Thread(target=registry.register, args=(f"more.m{number}", Shout()))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        await card_lists(
            agent, ["math.add", *(f"more.m{number}" for number in range(8)), "time.wait"]
        )
        for thread in threads:
            thread.join()
        assert (await agent.http.get(CARD)).headers["etag"] != before
        assert (await agent.card())["description"] == "apcore agent with 10 skills"
        assert (await agent.call("more.m3", "hi"))["status"]["state"] == "completed"
        running = asyncio.create_task(agent.call("time.wait", {"number": 1}))
        async with asyncio.timeout(30):
            await slow.begun.wait()
        registry.unregister("time.wait")
        registry.unregister("more.m3")
        await card_lists(
            agent, ["math.add", *(f"more.m{number}" for number in range(8) if number != 3)]
        )
        error = await agent.fail("more.m3", "hi")
        assert (error["code"], error["message"]) == (-32601, "Skill not found: more.m3")
        slow.released.set()
        assert (await running)["status"]["state"] == "completed"


@pytest.mark.requirement("apcore", "FR-OPS-003")
async def test_files_that_change_are_loaded_again(tmp_path: Path) -> None:
    """A new file is a new skill, and a changed one behaves anew."""
    source = """
from pydantic import BaseModel
class Nothing(BaseModel):
    pass
class Text(BaseModel):
    text: str
class Say:
    description = "Says {0}."
    input_schema, output_schema = Nothing, Text
    def execute(self, inputs, context):
        return {{"text": "{0}"}}
"""
    (tmp_path / "greet").mkdir()
    (tmp_path / "greet" / "hello.py").write_text(source.format("hello"), encoding="utf-8")
    registry = apcore.Registry(extensions_dir=str(tmp_path))
    assert registry.discover() == 1
    async with run_agent(registry, watch=True) as agent:
        assert await agent.skills() == ["greet.hello"]
        (tmp_path / "greet" / "bye.py").write_text(source.format("bye"), encoding="utf-8")
        await card_lists(agent, ["greet.bye", "greet.hello"])
        (tmp_path / "greet" / "hello.py").write_text(source.format("good day"), encoding="utf-8")
        async with asyncio.timeout(30):
            while "Says good day." not in str(await agent.card()):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.02)
        task = await agent.call("greet.hello", {})
        assert task["artifacts"][0]["parts"][0]["data"] == {"text": "good day"}
