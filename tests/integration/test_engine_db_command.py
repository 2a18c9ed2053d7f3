"""The operator's commands, on a store that an agent has worked on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from a2a_runtime.caller import Caller
from a2a_runtime.commands.db import command
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.stores.factory import create_store
from a2a_runtime.testing.agent import run_agent


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store in which two callers have tasks."""
    address = f"sqlite:///{tmp_path / 'tasks.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres_url")

    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    async def fill() -> None:
        for owner, texts in (("ada", ["one", "two"]), ("eve", ["three"])):
            async with run_agent(echo, store=create_store(address), caller=Caller(owner, "acme")) as one:
                for text in texts:
                    await one.send(text, context_id=f"c-{text}")

    asyncio.run(fill())
    return address


def called(url: str, *words: str) -> Result:
    """Run a command."""
    at = 1 if words[0] in {"tasks", "contexts"} else 0
    return CliRunner().invoke(command, [*words[: at + 1], "--store", url, *words[at + 1 :]])


def listed(url: str, *options: str) -> list[list[str]]:
    """List tasks."""
    result = called(url, "tasks", "list", *options)
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_tasks_are_listed_by_caller_and_state(url: str) -> None:
    """Every caller's tasks are there, with state, skill, time and whose they are; options narrow the list."""
    assert [row[1:3] + row[4:] for row in listed(url, "--owner", "eve")] == [["completed", "echo", "/agent", "acme", "eve"]]
    assert len(listed(url)) == 3
    assert len(listed(url, "--limit", "2")) == 2
    assert len(listed(url, "--context", "c-two")) == 1
    assert listed(url, "--state", "failed") == []


def test_a_task_is_shown_as_json(url: str) -> None:
    """A task prints as the protocol has it; one that does not exist is an error."""
    ((task_id, *_),) = listed(url, "--owner", "eve")
    assert json.loads(called(url, "tasks", "show", task_id).stdout)["artifacts"][0]["parts"] == [{"text": "three"}]
    missing = called(url, "tasks", "show", "nobody")
    assert (missing.exit_code, missing.stderr) == (1, "Error: nothing found\n")


def test_tasks_and_conversations_are_deleted(url: str) -> None:
    """By id, by conversation, or all that a caller has."""
    ((task_id, *_),) = listed(url, "--owner", "eve")
    assert called(url, "tasks", "delete", task_id).stderr == "deleted 1\n"
    assert called(url, "contexts", "delete", "c-one").stderr == "deleted 1\n"
    assert len(listed(url)) == 1
    assert called(url, "tasks", "delete", "--owner", "ada", "--all").stderr == "deleted 1\n"
    assert listed(url) == []


@pytest.mark.parametrize("words", [["delete"], ["delete", "x", "--all"], ["delete", "--all"], ["list", "--state", "lost"]], ids=" ".join)
def test_wrong_use_is_told(url: str, words: list[str]) -> None:
    """A command that could mean too much, or nothing, is refused."""
    assert called(url, "tasks", *words).exit_code == 2


def test_an_upgrade_may_be_repeated(url: str) -> None:
    """A store that is up to date stays as it is."""
    assert called(url, "upgrade").stdout == "up to date\n"


def test_an_empty_database_is_upgraded(postgres_databases) -> None:  # noqa: ANN001 - a fixture
    """The command makes the schema; before that, the others say what to do."""
    empty = asyncio.run(postgres_databases.create_empty())
    refused = called(empty, "tasks", "list")
    assert (refused.exit_code, "a2a-gen db upgrade" in refused.stderr) == (2, True)
    assert called(empty, "upgrade").stdout.startswith("applied 1")
    assert listed(empty) == []


def test_an_address_that_is_none_is_told() -> None:
    """The error says which addresses there are."""
    result = called("mysql://x", "tasks", "list")
    assert (result.exit_code, "sqlite:///" in result.stderr) == (2, True)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Who looks at a store names one that is there: a slip of the finger leaves no empty store behind."""
    result = called(f"sqlite:///{tmp_path}/typo.db", "tasks", "list")
    assert (result.exit_code, "there is no such file" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_store_is_that_of_the_project_here(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an option, and with nothing in the environment, the store of the a2a.toml is meant; without that, one is asked for."""
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    missing = CliRunner().invoke(command, ["tasks", "list"])
    assert (missing.exit_code, "store in an a2a.toml" in missing.stderr) == (2, True)
    (tmp_path / "a2a.toml").write_text(f'store = "{url}"\n')
    assert len(CliRunner().invoke(command, ["tasks", "list"]).stdout.splitlines()) == 3
    (tmp_path / "a2a.toml").write_text("store =")
    assert CliRunner().invoke(command, ["tasks", "list"]).exit_code == 2
