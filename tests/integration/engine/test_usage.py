"""Tokens and cost that handlers report."""

from __future__ import annotations

import json

import pytest

from a2a_contract.extensions import Usage
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Task
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import Context, TaskContext
from a2a_runtime.engine.handlers.skill import ReplyKind, Skill
from a2a_runtime.engine.handlers.usage import USAGE, UsageReport, read_usage
from a2a_runtime.features.telemetry.metrics import MAX_CURRENCIES, OTHER, Metrics
from a2a_runtime.ports.observer import Observation
from a2a_runtime.stores.base import Store
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message, run_agent

pytestmark = pytest.mark.anyio


async def report(ctx: TaskContext) -> str:
    """Report twice, once before a status and once after it."""
    ctx.usage(input_tokens=100, output_tokens=10, cost=0.1)
    await ctx.status("half")
    ctx.usage(output_tokens=5, cost=0.2)
    return "done"


async def report_and_ask(ctx: TaskContext) -> str:
    """Report in the run before the question, and in the run after it."""

    async def think() -> str:
        ctx.usage(input_tokens=1000, cost=1.0, currency="EUR")
        return "thought"

    await ctx.once("think", think)
    ctx.usage(input_tokens=10)
    await ctx.ask("and?")
    ctx.usage(output_tokens=1, cost=0.5)
    return "done"


def report_and_fail(ctx: TaskContext) -> str:
    """Report in a thread, and raise."""
    ctx.usage(input_tokens=7)
    raise ValueError


async def report_inline(ctx: Context) -> str:
    """Report without a task."""
    ctx.usage(input_tokens=3)
    ctx.usage(output_tokens=4, cost=0.25)
    return "done"


def sums(task: Task | Message) -> tuple[float, float, dict[str, float]]:
    """Read the sums of a task."""
    usage = read_usage(task.metadata)
    assert usage is not None
    return (
        usage.input_tokens,
        usage.output_tokens,
        {each.currency: each.amount for each in usage.costs or ()},
    )


async def test_reports_of_a_run_are_summed(store: Store) -> None:
    """In the metadata of the task, and in that of its status events."""
    async with run_agent(report, store=store) as agent:
        stored = await agent.start("x")
        events = [json.loads(each.body) for each in await agent.collect_events(stored)]
        ended = await agent.wait_terminal(stored)
    assert sums(ended) == (100, 15, {"USD": 0.3})
    found = [
        each["statusUpdate"]["metadata"][USAGE]["outputTokens"]
        for each in events
        if USAGE in str(each.get("statusUpdate"))
    ]
    assert found == [10, 15]


async def test_reports_of_all_runs_are_summed(store: Store) -> None:
    """A result of ``once`` counts once; the rest of a run that is repeated counts again."""
    async with run_agent(report_and_ask, store=store) as agent:
        question = await agent.send("x")
        assert sums(question) == (1010, 0, {"EUR": 1.0})
        ended = await agent.answer(question, "go on")
    assert sums(ended) == (1020, 1, {"EUR": 1.0, "USD": 0.5})


async def test_a_task_that_fails_has_consumed_too(store: Store) -> None:
    """Usage of a failed task is counted, also of a plain function in a thread."""
    async with run_agent(report_and_fail, store=store) as agent:
        failed = await agent.send("x")
    assert failed.status.state == State.FAILED
    assert sums(failed) == (7, 0, {})


async def test_a_reply_without_a_task_has_it_in_its_metadata() -> None:
    """There is no task to sum on."""
    skill = Skill("inline", report_inline, answers=ReplyKind.MESSAGE)
    async with run_agent(skill) as agent:
        message = await agent.engine.run_inline(agent.scope, "inline", build_user_message("x"))
    assert sums(message) == (3, 4, {"USD": 0.25})


async def test_metrics_count_it_by_skill() -> None:
    """Tokens by kind, cost by currency; a handler cannot make currencies without end."""
    metrics = Metrics()
    async with run_agent(
        report, options=EngineOptions(FAST_SETTINGS, observation=Observation(metrics))
    ) as agent:
        await agent.send("x")
    assert metrics.tokens == {("report", "input"): 100, ("report", "output"): 15}
    assert metrics.costs == {("report", "USD"): pytest.approx(0.3)}
    for number in range(10 * MAX_CURRENCIES):
        metrics.usage_reported("report", UsageReport(cost=1.0, currency=f"C{number}"))
    assert len(metrics.costs) == MAX_CURRENCIES + 1
    assert metrics.costs["report", OTHER] > 0


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"input_tokens": -1}, "-1 and 0 are not numbers of tokens"),
        ({"output_tokens": 1.5}, "0 and 1.5 are not numbers of tokens"),
        ({"cost": float("nan")}, "nan is not a cost"),
        ({"cost": 1, "currency": "dollars"}, "'dollars' is not a currency"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], problem: str) -> None:
    """An impossible report of usage is an error that names a possible one."""
    with pytest.raises(ValueError, match=f"ctx.usage: {problem}.*; report "):
        UsageReport(**given).check()  # type: ignore[arg-type]  # that is the test


def test_metadata_of_another_form_counts_as_none() -> None:
    """It may come from another agent, or from a client."""
    assert read_usage(None) is None
    assert read_usage({USAGE: {"inputTokens": "many"}}) is None
    assert isinstance(read_usage({USAGE: {"inputTokens": 1, "outputTokens": 2}}), Usage)
