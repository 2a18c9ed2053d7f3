"""What serving costs: this server with its tasks in memory, beside a2a-sdk, fasta2a, and the limit:
an app that parses and answers the same bytes.

One worker of uvicorn for each (uvloop, httptools), the same handler, servers on one core and the
load on the other. Each answer is looked at before anything is timed. Contestants take turns, and a
ratio is the median of the ratios within the turns: rows compare, absolute numbers do not.

    python bench/serving.py                all
    python bench/serving.py send card      some of them
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import cycle, repeat

import uvloop
from contest import CARD, LOAD_CORE, Server, bare, fasta2a, in_host, ours, pin, sdk
from load import Load, ask, drive

SECONDS = 0.8
ROUNDS = 5
MANY = 32
CROWD = 100
TASKS = 10_000
READERS = 50
CHUNKS = 10
PACE = 0.02
WAIT = 0.05
Loads = Mapping[str, Sequence[Load]]


def post(call: Mapping[str, object], version: bytes = b"1.0") -> bytes:
    """Write a request as official clients do, with the version of the protocol."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **call}, separators=(",", ":")).encode()
    head = (
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"a2a-version: %b\r\ncontent-length: %d\r\n\r\n"
    )
    return head % (version, len(body)) + body


def message(text: str, method: str = "SendMessage") -> bytes:
    """Ask for what the first word of a text says."""
    said = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}
    return post(
        {
            "method": method,
            "params": {"message": said, "metadata": {"skillId": text.split(maxsplit=1)[0]}},
        }
    )


def old_message(text: str) -> bytes:
    """Ask in 0.3."""
    said = {
        "kind": "message",
        "messageId": "m-1",
        "role": "user",
        "parts": [{"kind": "text", "text": text}],
    }
    return post(
        {"method": "message/send", "params": {"message": said, "metadata": {"skillId": text}}},
        b"0.3",
    )


def rest_message(text: str) -> bytes:
    """Ask over HTTP+JSON."""
    said = {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]},
        "metadata": {"skillId": text},
    }
    body = json.dumps(said, separators=(",", ":")).encode()
    head = (
        b"POST /message:send HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"a2a-version: 1.0\r\ncontent-length: %d\r\n\r\n"
    )
    return head % len(body) + body


def look(wire_id: str) -> bytes:
    """Ask for a task."""
    return post({"method": "GetTask", "params": {"id": wire_id}})


def stream(text: str) -> bytes:
    """Ask for a stream."""
    return message(text, "SendStreamingMessage")


@asynccontextmanager
async def run_servers(*servers: Server) -> AsyncGenerator[Sequence[Server]]:
    """Run some servers at the same time; those that are not asked anything do nothing."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(server) for server in servers]


async def turns(
    servers: Sequence[Server],
    request: bytes,
    connections: int,
    *,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
) -> Loads:
    """Let the servers take turns at the same work, after a short one to get warm."""
    found: dict[str, list[Load]] = {server.name: [] for server in servers}
    for server in servers:
        await server.load(request, connections, seconds / 4)
    for turn in range(rounds):
        for server in servers if turn % 2 else reversed(servers):
            found[server.name].append(await server.load(request, connections, seconds))
    return found


def ratio(found: Loads, one: str, other: str) -> float:
    """How many times as much one server answers as another."""
    return statistics.median(
        mine.rate / theirs.rate for mine, theirs in zip(found[one], found[other], strict=True)
    )


def middle(found: Loads, name: str, of: Callable[[Load], float]) -> float:
    """The median over the turns."""
    return statistics.median(of(load) for load in found[name])


def row(what: str, seen: float, gate: float, goal: float, unit: str = "") -> None:
    """Print a row; more is better where the goal is above the gate."""
    better = 1 if goal > gate else -1
    verdict = "MISSED"
    if seen * better >= goal * better:
        verdict = "goal"
    elif seen * better >= gate * better:
        verdict = "gate"
    print(f"{what:62} {seen:9.2f} {gate:9.2f} {goal:9.2f} {unit:11} {verdict}", flush=True)


def note(what: str, seen: object) -> None:
    """Print what has no goal."""
    print(
        f"  {what:60} {seen:9.2f}" if isinstance(seen, float) else f"  {what:60} {seen}", flush=True
    )


def rates(found: Loads) -> None:
    """Print what everybody did."""
    for name in found:
        rate = middle(found, name, lambda load: load.rate)
        cpu = middle(found, name, lambda load: load.cost * 1e6)
        p50, p99 = (
            middle(found, name, lambda load, part=part: load.percentile(load.took, part))
            for part in (50, 99)
        )
        note(
            f"  {name}",
            f"{rate:8.0f}/s  {cpu:6.0f} µs of CPU  p50 {p50:6.1f} ms  p99 {p99:6.1f} ms",
        )


async def check(servers: Sequence[Server], *requests: bytes) -> None:
    """See that everybody gives the answer that the others give."""
    for server in servers:
        for request in requests:
            answer = await ask(server.port, request)
            wanted = (
                (b"TASK_STATE_", b'"submitted"')
                if server.name == "fasta2a"
                else (b"COMPLETED", b'"completed"')
            )
            assert any(word in answer for word in wanted), (server.name, answer)


async def send() -> None:
    """A message, and its answer when the task is done."""
    async with run_servers(ours(), bare(), sdk(), fasta2a()) as servers:
        me, limit, official, rival = (server.name for server in servers)
        await check(servers, message("echo"))
        found = await turns(servers, message("echo"), MANY)
        row("send, 32 connections, of bare", ratio(found, me, limit), 0.40, 0.50)
        row("send, 32 connections, times a2a-sdk", ratio(found, me, official), 10, 12)
        row(
            "send, 32 connections, 99th percentile",
            middle(found, me, lambda load: load.percentile(load.took)),
            20,
            12,
            "ms",
        )
        row(
            "CPU of a send, times bare",
            middle(found, me, lambda load: load.cost)
            / middle(found, limit, lambda load: load.cost),
            3.0,
            2.4,
        )
        note(
            "times fasta2a, whose answer does not wait for the task",
            f"{ratio(found, me, rival):.2f}",
        )
        rates(found)


async def other_bindings() -> None:
    """The same in 0.3 and over HTTP+JSON."""
    requests = {
        "1.0": message("echo"),
        "0.3": old_message("echo"),
        "HTTP+JSON": rest_message("echo"),
    }
    found: dict[str, list[Load]] = {name: [] for name in requests}
    async with run_servers(ours()) as (server,):
        await check([server], *requests.values())
        for _ in range(ROUNDS):
            for name, request in requests.items():
                found[name].append(await server.load(request, MANY, SECONDS))
    row("send in 0.3, of 1.0", ratio(found, "0.3", "1.0"), 0.82, 0.90)
    row("send over HTTP+JSON, of JSON-RPC", ratio(found, "HTTP+JSON", "1.0"), 0.92, 0.95)


async def modes() -> None:
    """What the output modes in a message cost, which every client of the official SDK names."""
    said = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "echo"}]}
    params = {
        "message": said,
        "configuration": {"acceptedOutputModes": ["text/plain"]},
        "metadata": {"skillId": "echo"},
    }
    with_modes = post({"method": "SendMessage", "params": params})
    async with run_servers(ours()) as (server,):
        await check([server], with_modes)
        costs = [
            (
                (await server.load(with_modes, MANY, SECONDS)).cost
                - (await server.load(message("echo"), MANY, SECONDS)).cost
            )
            for _ in range(2 * ROUNDS)
        ]
    row("CPU that acceptedOutputModes add to a send", statistics.median(costs) * 1e6, 12, 2, "µs")


async def host() -> None:
    """The same in the app of a host."""
    async with run_servers(ours(), in_host()) as servers:
        await check(servers, message("echo"))
        found = await turns(servers, message("echo"), MANY)
        me, hosted = (server.name for server in servers)
        row("send in the app of a host, of an app of our own", ratio(found, hosted, me), 0.90, 0.95)
        row(
            "send in the app of a host, 99th percentile",
            middle(found, hosted, lambda load: load.percentile(load.took)),
            10,
            6,
            "ms",
        )


async def wait() -> None:
    """A handler that waits."""
    async with run_servers(ours(), bare()) as servers:
        await check(servers, message("wait"))
        found = await turns(servers, message("wait"), CROWD, rounds=3, seconds=2)
        for server, show in zip(servers, (partial(row, gate=0.88, goal=0.93), note), strict=True):
            share = middle(found, server.name, lambda load: load.rate) / (CROWD / WAIT)
            show(f"{server.name}: handler that waits 50 ms, 100 connections, of 2000/s", share)


async def get() -> None:
    """One of many tasks."""
    async with run_servers(ours(), bare()) as servers:
        kept: dict[str, list[bytes]] = {}
        for server in servers:
            ids: list[bytes] = []
            before = server.memory
            await drive(
                server.port, Load(cycle([message("echo")]), keep=ids.append, most=TASKS), MANY, 120
            )
            kept[server.name] = [look(json.loads(each)["result"]["task"]["id"]) for each in ids]
            note(
                f"{server.name}: resident bytes of a finished task of {len(ids)}",
                f"{(server.memory - before) / len(ids):.0f}",
            )
            assert (
                json.loads(await ask(server.port, kept[server.name][-1]))["result"]["status"][
                    "state"
                ]
                == "TASK_STATE_COMPLETED"
            )
        found: dict[str, list[Load]] = {server.name: [] for server in servers}
        for _ in range(ROUNDS):
            for server in servers:
                found[server.name].append(
                    await server.take(Load(cycle(kept[server.name])), MANY, SECONDS)
                )
        row(
            f"get of one of {TASKS}, of bare",
            ratio(found, servers[0].name, servers[1].name),
            0.65,
            0.75,
        )
        rates(found)


async def card() -> None:
    """The agent card."""
    async with run_servers(ours(), bare(), sdk(), fasta2a()) as servers:
        found = await turns(servers, CARD, MANY)
        row("agent card, of bare", ratio(found, servers[0].name, servers[1].name), 0.50, 0.70)
        rates(found)


async def streams() -> None:
    """Many streams at once: as fast as they go, and at a pace."""
    async with run_servers(ours(), bare(), sdk()) as servers:
        me, limit, official = (server.name for server in servers)
        await check(servers, stream(f"count {CHUNKS}"))
        found = await turns(servers, stream(f"count {CHUNKS}"), READERS)
        row("50 streams of 10 chunks, of bare", ratio(found, me, limit), 0.25, 0.33)
        row("50 streams of 10 chunks, times a2a-sdk", ratio(found, me, official), 7, 9)
        row(
            "50 streams of 10 chunks, first event, 99th percentile",
            middle(found, me, lambda load: load.percentile(load.first)),
            15,
            6,
            "ms",
        )
        for name in (me, limit):
            note(
                f"{name}: the same on connections that were accepted before",
                f"{middle(found, name, lambda load: load.percentile(load.later)):.1f}",
            )
        rates(found)


async def pace() -> None:
    """Streams that take their time."""
    async with run_servers(ours(), bare()) as servers:
        for server, show in zip(
            servers, (partial(row, gate=4, goal=2, unit="ms"), note), strict=True
        ):
            load = await server.load(stream("pace 150"), READERS, 0.1)
            late = load.percentile([max(gap - PACE, 0) for gap in load.gaps if gap > PACE / 2])
            show(f"{server.name}: 50 streams paced at 20 ms, gap over it, 99th percentile", late)


async def chunks() -> None:
    """What a chunk costs in a short and in a long stream."""
    async with run_servers(ours()) as (server,):
        costs: dict[int, list[float]] = {100: [], 1000: []}
        for _ in range(ROUNDS):
            for number, seen in costs.items():
                seen.append(
                    (await server.load(stream(f"count {number}"), 1, SECONDS)).cost / number
                )
        row("CPU of a chunk of 1000", min(costs[1000]) * 1e6, 30, 20, "µs")
        row(
            "CPU of a chunk of 1000, times one of 100",
            statistics.median(b / a for a, b in zip(costs[100], costs[1000], strict=True)),
            1.2,
            1.05,
        )


async def newcomers() -> None:
    """Streams on connections that all are new."""
    async with run_servers(ours(), bare()) as servers:
        for server, show in zip(
            servers, (partial(row, gate=60, goal=40, unit="ms"), note), strict=True
        ):
            latest = []
            for _ in range(4 * ROUNDS):
                load = await drive(
                    server.port, Load(repeat(stream(f"count {CHUNKS}")), most=READERS), READERS, 5
                )
                latest.append(max(load.first) * 1000)
            show(
                f"{server.name}: first event on 50 new connections, the last one",
                statistics.median(latest),
            )


async def neighbor() -> None:
    """Another client beside a handler that yields without waiting."""
    worst = []
    async with run_servers(ours()) as (server,):
        for _ in range(ROUNDS):
            greedy = asyncio.create_task(
                drive(server.port, Load(repeat(stream("count 20000")), most=1), 1, 30)
            )
            await asyncio.sleep(0.02)
            worst.append(
                max((await drive(server.port, Load(repeat(message("echo"))), 1, 0.3)).took) * 1000
            )
            await greedy
    row("another send beside 20,000 chunks, the slowest", statistics.median(worst), 20, 10, "ms")


async def large() -> None:
    """Messages of a megabyte, and what is held of them."""
    size = 1_000_000
    number = 40
    request = message("echo " + "x" * size)
    async with run_servers(ours()) as (server,):
        before = server.memory
        load = await server.take(Load(repeat(request), most=number), 4, 60)
        held = (server.memory - before) / (size * len(load.took))
        note(f"CPU of a message of 1 MB, the first {len(load.took)}", f"{load.cost * 1e3:.2f} ms")
        row("bytes held for each of a message, with its echo", held, 2.5, 2.0)


async def start() -> None:
    """A new process."""
    found = []
    for _ in range(ROUNDS):
        async with run_servers(ours()) as (server,):
            found.append((server.started, server.memory))
    row("start to first card", min(seconds for seconds, _ in found), 0.42, 0.30, "s")
    row(
        "resident memory at start",
        statistics.median(memory for _, memory in found) / 1e6,
        72,
        58,
        "MB",
    )


ROWS: Mapping[str, Callable[[], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        send,
        other_bindings,
        modes,
        host,
        wait,
        get,
        card,
        streams,
        pace,
        chunks,
        newcomers,
        neighbor,
        large,
        start,
    )
}


async def print_table(
    title: str, rows: Mapping[str, Callable[[], Awaitable[None]]], named: Sequence[str]
) -> None:
    """Print a table, or some of its rows."""
    pin(0, LOAD_CORE)
    print(f"\n{title:62} {'seen':>9} {'gate':>9} {'goal':>9}")
    for name in named or rows:
        await rows[name]()


if __name__ == "__main__":
    uvloop.run(print_table("Serving", ROWS, sys.argv[1:]))
