"""CPU that metrics, traces and sources add to a blocking send, in turns of some hundred sends.

Servers under uvicorn on one core, the load on the other. Other work on the machine only adds to the
CPU of a send (caches), so the ratio is that of the cheapest turns; the quartiles of the ratios
within the turns show how much the machine has disturbed.

    python bench/overhead.py
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass

from contest import LOAD_CORE, Server, ours, pin
from load import ask
from serving import message, post

SECONDS = 0.2
ROUNDS = 25
MANY = 16


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of send."""

    name: str
    server: Server
    request: bytes


@dataclass(frozen=True, slots=True)
class Comparison:
    """A case beside the one that it is built on."""

    case: Case
    base: Case
    goal: float


def build_call(skill: str) -> bytes:
    """Build a message with data to a skill."""
    sent = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": {"number": 1}}]}
    return post(
        {"method": "SendMessage", "params": {"message": sent, "metadata": {"skillId": skill}}}
    )


def build_comparisons() -> list[Comparison]:
    """Build what is compared; servers that two cases share run once."""
    plain = ours()
    metrics = Server("metrics", "ours", environment={"A2A_METRICS_PATH": "/metrics"})
    traced = Server("traced", "ours_traced")
    bridged = Server("bridged", "bridged")
    echo = message("echo")
    base = Case("send", plain, echo)
    return [
        Comparison(Case("with metrics", metrics, echo), base, 1.10),
        Comparison(Case("with traces, 1 % sampled", traced, echo), base, 1.25),
        Comparison(
            Case("to a skill of a source", bridged, build_call("bridged")),
            Case("to a typed skill", bridged, build_call("plain")),
            1.3,
        ),
    ]


async def measure(comparisons: list[Comparison]) -> dict[str, list[float]]:
    """Measure the CPU of a send in each case, in turns that change their order."""
    cases = {case.name: case for each in comparisons for case in (each.base, each.case)}
    found: dict[str, list[float]] = {name: [] for name in cases}
    async with AsyncExitStack() as stack:
        for server in {id(each.server): each.server for each in cases.values()}.values():
            await stack.enter_async_context(server)
        for each in cases.values():
            answer = (await ask(each.server.port, each.request)).decode()
            assert "TASK_STATE_COMPLETED" in answer, answer
        for turn in range(ROUNDS + 1):
            for name, each in list(cases.items())[:: 1 if turn % 2 else -1]:
                taken = await each.server.load(each.request, MANY, SECONDS)
                if turn:  # the first one is to get warm
                    found[name].append(taken.cost)
    return found


async def main() -> int:
    """Print the table; 1 if a goal is missed."""
    pin(os.getpid(), LOAD_CORE)
    comparisons = build_comparisons()
    found = await measure(comparisons)
    missed = 0
    print(f"\n{'CPU of the server for a send':34} {'µs':>6} {'ratio':>7} {'quartiles':>14}   goal")
    for each in comparisons:
        base = found[each.base.name]
        case = found[each.case.name]
        low, _, high = statistics.quantiles(
            [one / other for one, other in zip(case, base, strict=True)], n=4
        )
        print(f"{each.base.name:34} {min(base) * 1e6:6.0f}")
        kept = (ratio := min(case) / min(base)) <= each.goal
        missed += not kept
        costs = f"{min(case) * 1e6:6.0f} {ratio:7.3f} {low:7.3f}-{high:.3f}"
        print(f"{each.case.name:34} {costs}   {each.goal:.2f} {'kept' if kept else 'MISSED'}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
