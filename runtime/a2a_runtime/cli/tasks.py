"""``a2a-gen tasks``: tasks of the caller at any agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a-gen tasks", "client"):
    from a2a_contract.errors import InvalidParamsError, UnsupportedOperationError
    from a2a_contract.lifecycle import State
    from a2a_contract.v1_0 import Task
    from a2a_runtime.base.card_extensions import SKILL_ID
    from a2a_runtime.cli.terminal.command import EXIT_CODES, AgentGroup, CallError, run
    from a2a_runtime.cli.terminal.questions import describe_continuation, describe_question
    from a2a_runtime.cli.terminal.report import (
        CallReport,
        check_folder,
        finish,
        print_json,
        print_line,
        state_name,
    )
    from a2a_runtime.cli.terminal.target import Target, target_options
    from a2a_runtime.cli.terminal.text import to_safe_line
    from a2a_runtime.client import A2AClient
    from a2a_runtime.client.stream import INTERRUPTED_STATES, TERMINAL_STATES
    from a2a_runtime.client.typed.results import parse_question

_EXAMPLES = f"""\b
Examples:
  a2a-gen tasks list https://agent.example --state working
  a2a-gen tasks get https://agent.example 7f3c --json
  a2a-gen tasks follow https://agent.example 7f3c
  a2a-gen tasks cancel https://agent.example 7f3c

{EXIT_CODES}"""
_STATES = {state.name.lower().replace("_", "-"): state for state in State}
_COLUMNS = ("ID", "STATE", "CHANGED", "SKILL", "CONVERSATION")
_WIDTHS = (36, 14, 20, 16, 36)
_json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the JSON of the protocol (1.0), whatever the agent speaks.",
)
_output_option = click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for files of the result.",
)


@click.group(cls=AgentGroup, epilog=_EXAMPLES)
def command() -> None:
    """List, read, follow and cancel tasks of an agent."""


@command.command("list")
@target_options
@click.option("--state", type=click.Choice(list(_STATES)), help="Only tasks in this state.")
@click.option("--context", "context_id", help="Only tasks of this conversation.")
@click.option(
    "--since", type=click.DateTime(), help="Only tasks whose status has changed since then (UTC)."
)
@click.option(
    "--limit",
    default=50,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum number of tasks.",
)
@_json_option
def list_tasks(
    target: Target,
    state: str | None,
    context_id: str | None,
    since: datetime | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """List tasks of the caller.

    Prints id, state, time, skill and conversation of each, the most recently changed first; with
    --json one task in each line.
    """

    async def print_tasks() -> None:
        left = limit
        if not as_json:
            print_line(_align(_COLUMNS))
        async with target.open() as client:
            found = client.list(
                context_id=context_id,
                state=_STATES[state] if state else None,
                since=since.replace(tzinfo=UTC) if since else None,
                page_size=min(limit, 100),
            )
            async for task in found:
                _print_task(task, as_json=as_json)
                left -= 1
                if not left:
                    break

    run(print_tasks())


@command.command()
@target_options
@click.argument("task_id")
@click.option(
    "--history",
    type=click.IntRange(0),
    help="Maximum number of messages. [default: as the agent decides]",
)
@_output_option
@_json_option
def get(
    target: Target, task_id: str, history: int | None, output: Path | None, *, as_json: bool
) -> None:
    """Print a task: its state, and its result if it has one."""
    check_folder(output)

    async def print_task() -> None:
        async with target.open() as client:
            task = await client.get(task_id, history_length=history)
        if as_json:
            print_json(task)
            return
        print_line(_describe_task(task))
        CallReport(as_json=False, output=output).print_result(task)

    run(print_task())


@command.command()
@target_options
@click.argument("task_id")
@_json_option
def cancel(target: Target, task_id: str, *, as_json: bool) -> None:
    """Cancel a task."""

    async def cancel_task() -> None:
        async with target.open() as client:
            task = await client.cancel(task_id)
        _print_task(task, as_json=as_json)

    run(cancel_task())


@command.command()
@target_options
@click.argument("task_id")
@_output_option
@_json_option
def follow(target: Target, task_id: str, output: Path | None, *, as_json: bool) -> None:
    """Follow a task that runs, until it ends or waits for an answer."""
    check_folder(output)
    run(_follow(target, task_id, CallReport(as_json=as_json, output=output)))


async def _follow(target: Target, task_id: str, report: CallReport) -> None:
    try:
        async with target.open() as client:
            task = await client.get(task_id)
            if str(task.status.state) not in TERMINAL_STATES | INTERRUPTED_STATES:
                task = await _follow_running(client, target, task_id, report)
            report.print_event(task)
    finally:
        report.close()
    if str(task.status.state) in INTERRUPTED_STATES:
        raise CallError(
            f"{describe_question(parse_question(task))}\n    fix: "
            f"{describe_continuation(target.url, task.id)}"
        )
    finish(task)


async def _follow_running(
    client: A2AClient, target: Target, task_id: str, report: CallReport
) -> Task:
    """Print the events of a task until it ends or asks, and return the task then."""
    limit = asyncio.timeout(target.timeout)
    try:
        # the task may have ended meanwhile
        with suppress(UnsupportedOperationError, InvalidParamsError):
            async with limit, client.subscribe(task_id) as stream:
                async for event in stream:
                    report.print_event(event)
                    if str(stream.state) in INTERRUPTED_STATES:
                        break
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise CallError(
            f"task {to_safe_line(task_id)}: still runs after {target.timeout} s; raise --timeout"
        ) from error
    return await client.get(task_id)


def _print_task(task: Task, *, as_json: bool) -> None:
    if as_json:
        print_json(task)
    else:
        click.echo(_describe_task(task))


def _describe_task(task: Task) -> str:
    changed = task.status.timestamp
    moment = "" if changed is None else changed.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _align((task.id, state_name(task), moment, _find_skill(task), task.context_id or ""))


def _find_skill(task: Task) -> str:
    """Find the skill that a message of the task names."""
    for message in task.history or ():
        skill = (message.metadata or {}).get(SKILL_ID)
        if isinstance(skill, str):
            return skill
    return ""


def _align(cells: Iterable[str]) -> str:
    """Write the cells of a row below each other; an empty one is a dash, so that columns can be
    counted.
    """
    texts = [to_safe_line(cell) or "-" for cell in cells]
    return "  ".join(cell.ljust(width) for cell, width in zip(texts, _WIDTHS, strict=True)).rstrip()
