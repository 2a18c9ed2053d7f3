"""What apcore modules cost as skills: the start of two hundred, their card, a call beside that of
the executor, a hundred calls at once.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
from table import Row, show

from a2a_runtime.features.apcore import async_serve
from a2a_runtime.testing.asgi_transport import run_app

apcore: Any = import_module("apcore")

MODULES = 200
CALLS = 100
ROUNDS = 300
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
START = """
import time
start = time.perf_counter()
import asyncio, sys
sys.path.insert(0, {folder!r})
import modules
registry = modules.build_registry({modules})
imported = time.perf_counter()
asyncio.run(modules.read_card(registry))
print(imported - start, time.perf_counter() - imported)
"""


class Add:
    """A module that does next to nothing."""

    description = "Adds one."
    input_schema = SCHEMA
    output_schema: Any = {"type": "object"}  # noqa: RUF012
    annotations = apcore.ModuleAnnotations(readonly=True)

    async def execute(self, inputs: dict[str, Any], context: object) -> dict[str, int]:
        """Add."""
        del context
        return {"total": inputs["number"] + 1}


def build_registry(modules: int) -> Any:  # noqa: ANN401 - the framework has no types
    """Build a registry."""
    registry = apcore.Registry()
    for number in range(modules):
        registry.register(f"bench.m{number}", Add())
    return registry


async def read_card(registry: Any) -> float:  # noqa: ANN401 - as above
    """Serve a registry, read its card, and time one that is made anew."""
    async with (
        run_app(async_serve(registry).litestar) as transport,
        httpx.AsyncClient(base_url="http://a", transport=transport) as http,
    ):
        skills = len((await http.get("/.well-known/agent.json")).json()["skills"])
        assert skills == registry.count
        registry.register("bench.more", Add())
        begin = time.perf_counter()
        while len((await http.get("/.well-known/agent.json")).json()["skills"]) == skills:  # noqa: ASYNC110 - a card has no event
            await asyncio.sleep(0)
        return time.perf_counter() - begin


async def measure(call: Callable[[], Awaitable[object]]) -> tuple[float, ...]:
    """Time calls, one after the other."""
    found: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        await call()
        found.append(time.perf_counter() - begin)
    return tuple(found)


async def calls() -> list[Row]:
    """Time calls of a module, by the executor and over HTTP in this process."""
    registry = build_registry(1)
    executor = apcore.Executor(registry)
    sent = {
        "role": "user",
        "messageId": "m",
        "kind": "message",
        "parts": [{"kind": "data", "data": {"number": 1}}],
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "message/send",
        "params": {"metadata": {"skillId": "bench.m0"}, "message": sent},
    }
    async with (
        run_app(async_serve(executor).litestar) as transport,
        httpx.AsyncClient(base_url="http://a", transport=transport) as http,
    ):

        async def send() -> None:
            assert '"total":2' in (await http.post("/", json=body)).text

        alone = await measure(lambda: executor.call_async("bench.m0", {"number": 1}))
        whole = await measure(send)
        together: list[float] = []
        for _ in range(5):
            begin = time.perf_counter()
            await asyncio.gather(*(send() for _ in range(CALLS)))
            together.append(time.perf_counter() - begin)
    over = statistics.median(whole) - statistics.median(alone)
    return [
        Row("a call of the executor", alone),
        Row("message/send, with the client", whole),
        Row("the difference of the medians", (over,), 0.005),
        Row(f"{CALLS} calls at once", tuple(together), 1.0),
    ]


def main() -> None:
    """Print the table."""
    folder = str(Path(__file__).parent)
    program = START.format(folder=folder, modules=MODULES)
    said = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(3)
    ]
    cards = [asyncio.run(read_card(build_registry(100))) for _ in range(5)]
    rows = [
        Row("import of all that is needed", tuple(float(each[0]) for each in said)),
        Row(
            f"{MODULES} modules: from serve to their card, twice",
            tuple(float(each[1]) for each in said),
            2.0,
        ),
        Row("the card of 100 after a change", tuple(cards), 0.1),
        *asyncio.run(calls()),
    ]
    show("apcore modules", iter(rows))


if __name__ == "__main__":
    main()
