"""Function entries of one blocking send: what cProfile counts between 1,000 and 0 requests, by room.

The number depends on the interpreter and the versions of the libraries and on nothing else, so it shows what a change costs on any machine.

    python bench/entries.py             the table
    python bench/entries.py --most 30   and the functions that are entered most
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import socket
import threading
import time
from collections import Counter
from io import BufferedReader
from typing import TypeAlias

import uvicorn
from litestar import Litestar

from a2a_contract.dialects import V0_3, V1_0
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.execution.context import TaskContext

REQUESTS = 1000
ROOMS = (
    "a2a_runtime/exchange",
    "a2a_runtime/service",
    "a2a_runtime/execution",
    "a2a_runtime/stores",
    "a2a_runtime/streams",
    "a2a_runtime",
    "a2a_contract",
)
LIBRARIES = ("litestar", "uvicorn", "pydantic", "asyncio")
CALLS = {
    V1_0.title: ("SendMessage", {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}),
    V0_3.title: ("message/send", {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}),
}

Entries: TypeAlias = "Counter[tuple[str, str]]"
"""How often a function of a file was entered, by its file and its name; what is built in belongs to the file that called it."""


def echo_app() -> Litestar:
    """Make an agent that says what it hears."""
    agent = Agent("echo")

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    return create_app(agent)


def request_of(method: str, message: object) -> bytes:
    """Write a request as it goes over the wire."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}).encode()
    return b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def body_of(answers: BufferedReader) -> bytes:
    """Read one answer to its end."""
    length = 0
    while (line := answers.readline().lower().strip()) != b"":
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return answers.read(length)


def profiled(request: bytes, requests: int) -> Entries:
    """Serve some requests under the profiler, after some that are not counted anywhere but in both runs."""
    server = uvicorn.Server(uvicorn.Config(echo_app(), port=0, log_level="critical", access_log=False))

    def ask() -> None:
        while not server.started:
            time.sleep(0.01)
        with socket.create_connection(server.servers[0].sockets[0].getsockname()) as connection, connection.makefile("rb") as answers:
            for _ in range(50 + requests):
                connection.sendall(request)
                answer = body_of(answers)
                assert b'"result"' in answer, answer
        server.should_exit = True

    client = threading.Thread(target=ask)
    client.start()
    profile = cProfile.Profile()
    profile.runcall(server.run)
    client.join()
    return entries_of(pstats.Stats(profile))


def entries_of(stats: pstats.Stats) -> Entries:
    """Read what the profiler has counted."""
    counted: Entries = Counter()
    for (file, _, name), (_, entered, _, _, callers) in stats.stats.items():  # type: ignore[attr-defined]  # not in its stubs
        if file != "~":
            counted[file, name] += entered
            continue
        for (caller, _, _), (_, times, _, _) in callers.items():
            counted[caller, name] += times
    return counted


def room_of(file: str) -> str:
    """Say whose function it is."""
    return next((room for room in (*ROOMS, *LIBRARIES) if f"{room}/" in file or f"{room}." in file), "other")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=0)
    most = parser.parse_args().most
    profiled(request_of(*CALLS[V1_0.title]), 1)  # what is done once in a process is done now
    for title, (method, message) in CALLS.items():
        request = request_of(method, message)
        without = profiled(request, 0)
        entries = profiled(request, REQUESTS)
        entries.subtract(without)
        rooms: Counter[str] = Counter()
        for (file, _), times in entries.items():
            rooms[room_of(file)] += times
        print(f"{title}: {sum(rooms.values()) / REQUESTS:.0f} function entries per send")
        for room in (*ROOMS, *LIBRARIES, "other"):
            print(f"  {room:24} {rooms[room] / REQUESTS:6.1f}")
        for (file, name), times in entries.most_common(most):
            print(f"  {times / REQUESTS:6.1f}  {'/'.join(file.split('/')[-3:])} {name}")


if __name__ == "__main__":
    main()
