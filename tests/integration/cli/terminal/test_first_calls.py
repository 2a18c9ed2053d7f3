"""First calls of an agent from a terminal: its skills, its credentials, and addresses without a
scheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from integration.outcome_agent import serve_on_socket
from pydantic import BaseModel, Field

from a2a_gen.entry import main
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    User,
    digest_key,
    hash_password,
)
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

KEY = "k" * 40


class Seat(BaseModel):
    """A place in a row."""

    row: int


class Flight(BaseModel):
    """A flight to book."""

    to: Annotated[str, Field(description="City,\nor airport")]
    kind: Literal["window", "aisle"] = "aisle"
    seats: list[Seat] | None = None


def build_agent() -> Agent:
    """Build an agent with one skill, whose input is text."""
    agent = Agent("hello", description="Greets people.")

    @agent.skill("greet")
    async def greet(ctx: TaskContext) -> str:
        return f"Hello, {ctx.text.strip()}!"

    return agent


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of an agent with one skill."""
    with serve_on_socket(create_app(build_agent(), store="memory")) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def typed_url() -> Iterator[str]:
    """The URL of an agent with a typed skill beside one of text."""
    agent = build_agent()

    @agent.skill("book")
    async def book(flight: Flight) -> str:
        return flight.to

    with serve_on_socket(create_app(agent, store="memory")) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    """The URL of an agent that wants a key, or a name and a password."""
    users = BasicAuthenticator({"ada": User(hash_password("s:ecret"), Identity("ada"))})
    gate = AuthGate(ApiKeyAuthenticator({digest_key(KEY): Identity("ada")}), users)
    with serve_on_socket(
        create_app(Surface(build_agent(), gate=gate), settings=FAST_SETTINGS)
    ) as client:
        yield str(client.base_url).rstrip("/")


OPTIONS = "fix: --auth apiKey=@FILE (an API key), or --user @FILE (name:password)\n"


@pytest.mark.parametrize("words", [["call"], ["call", "--no-wait"], ["stream"]], ids=" ".join)
def test_an_error_for_missing_credentials_has_the_option(
    guarded_url: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was sent that could be refused: the command ends as with any configuration that
    cannot be used.
    """
    command, *options = words
    assert main([command, guarded_url, "greet", "Ada", *options]) == 1
    error = capsys.readouterr().err
    assert (
        "hello: requires apiKey (api key) or basic (http auth), and no credentials are given"
        in error
    )
    assert OPTIONS in error
    assert main([command, guarded_url, "greet", "Ada", *options, "--auth", f"nope={KEY}"]) == 1
    error = capsys.readouterr().err
    assert "and given is --auth for nope" in error
    assert OPTIONS in error
    assert "auth={" not in error


def test_refused_credentials_are_an_answer_of_the_agent(
    guarded_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were sent, so the agent has decided; the options of its card are named all the same."""
    assert main(["call", guarded_url, "greet", "Ada", "--auth", "apiKey=wrong"]) == 2
    assert OPTIONS in capsys.readouterr().err
    assert main(["tasks", "list", guarded_url]) == 1
    assert OPTIONS in capsys.readouterr().err


def test_the_card_shows_what_a_skill_takes(
    typed_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for each member: whether it is required, its type, its default, and its
    description.
    """
    assert main(["card", typed_url]) == 0
    output = capsys.readouterr().out
    assert "skill book: " in output
    lines = output.partition("    takes (* is required):\n")[2].splitlines()
    assert lines[:3] == [
        "      to*: string  City, or airport",
        '      kind: "window" | "aisle" = "aisle"',
        "      seats: array of object | null = null",
    ]
    assert output.count("takes (") == 1


def test_an_address_of_this_machine_needs_no_scheme(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is taken as http; another host without a scheme is refused in the words of the command."""
    port = url.rpartition(":")[2]
    for address in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert main(["call", address, "greet", "Ada"]) == 0
        assert main(["card", address]) == 0
    assert capsys.readouterr().out.count("Hello, Ada!") == 2
    for address in ("agent.example:8000", "http://[::1"):
        assert main(["call", address, "greet", "Ada"]) == 1
        assert f"URL: {address!r} is not a URL; begin it with https://" in capsys.readouterr().err


def test_one_skill_needs_no_name(
    url: str, typed_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All words are its text then, unless the first one looks like its name; with several skills,
    the card's are listed.
    """
    for words in (["Ada"], ["greet", "Ada"], ["Ada", "Lovelace"]):
        assert main(["call", url, *words]) == 0
    assert capsys.readouterr().out == "Hello, Ada!\nHello, Ada!\nHello, Ada Lovelace!\n"
    assert main(["call", url, "gret", "Ada"]) == 1
    assert "'gret' is not on the card, which has greet" in capsys.readouterr().err
    assert main(["call", url, "greet"]) == 1
    assert "nothing to send" in capsys.readouterr().err
    assert main(["call", typed_url, "--data", "{}"]) == 1
    assert "SKILL: not given; name one of greet, book" in capsys.readouterr().err


def test_a_list_has_a_header_and_skills(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Below each other, the header beside the results; a message that names no skill shows a
    dash.
    """
    assert main(["call", url, "greet", "Ada"]) == 0
    assert main(["call", url, "--auto", "Ada"]) == 0
    capsys.readouterr()
    assert main(["tasks", "list", url, "--limit", "2"]) == 0
    listed = capsys.readouterr()
    assert listed.err.split() == ["ID", "STATE", "CHANGED", "SKILL", "CONVERSATION"]
    rows = [line.split() for line in listed.out.splitlines()]
    assert [(state, skill) for _, state, _, skill, _ in rows] == [
        ("completed", "-"),
        ("completed", "greet"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row[2]) for row in rows)
    assert listed.err.index("STATE") == listed.out.index("completed")
