"""Function entries of one blocking send: what cProfile counts between 1,000 and 0 requests, by
package.

The number depends on the interpreter and the versions of the libraries and on nothing else, so it
shows what a change costs on any machine.

    python bench/entries.py             the table
    python bench/entries.py --most 30   and the most frequent functions
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
from a2a_runtime.engine.handlers.context import TaskContext

REQUESTS = 1000
PACKAGES = (
    "a2a_runtime/http",
    "a2a_runtime/service",
    "a2a_runtime/engine",
    "a2a_runtime/stores",
    "a2a_runtime",
    "a2a_contract",
)
LIBRARIES = ("litestar", "uvicorn", "pydantic", "asyncio")
CALLS = {
    V1_0.title: (
        "SendMessage",
        {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
    ),
    V0_3.title: (
        "message/send",
        {
            "kind": "message",
            "messageId": "m",
            "role": "user",
            "parts": [{"kind": "text", "text": "hello"}],
        },
    ),
}

Entries: TypeAlias = "Counter[tuple[str, str]]"
"""How often a function of a file was entered, by its file and its name; built-in functions count
for the file that calls them.
"""


def echo_app() -> Litestar:
    """Build an agent that returns its input."""
    agent = Agent("echo")

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    return create_app(agent)


def build_request(method: str, message: object) -> bytes:
    """Build the bytes of a request."""
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    ).encode()
    return (
        b"POST / HTTP/1.1\r\nhost: x\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )


def read_body(answers: BufferedReader) -> bytes:
    """Read one response."""
    length = 0
    while (line := answers.readline().lower().strip()) != b"":
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return answers.read(length)


def profile_requests(request: bytes, requests: int) -> Entries:
    """Serve requests under the profiler, after 50 that count in both runs."""
    server = uvicorn.Server(
        uvicorn.Config(echo_app(), port=0, log_level="critical", access_log=False)
    )

    def send() -> None:
        while not server.started:
            time.sleep(0.01)
        with (
            socket.create_connection(server.servers[0].sockets[0].getsockname()) as connection,
            connection.makefile("rb") as answers,
        ):
            for _ in range(50 + requests):
                connection.sendall(request)
                answer = read_body(answers)
                assert b'"result"' in answer, answer
        server.should_exit = True

    client = threading.Thread(target=send)
    client.start()
    profile = cProfile.Profile()
    profile.runcall(server.run)
    client.join()
    return count_entries(pstats.Stats(profile))


def count_entries(stats: pstats.Stats) -> Entries:
    """Count the entries in a profile."""
    counted: Entries = Counter()
    for (file, _, name), (_, entered, _, _, callers) in stats.stats.items():  # type: ignore[attr-defined]  # not in its stubs
        if file != "~":
            counted[file, name] += entered
            continue
        for (caller, _, _), (_, times, _, _) in callers.items():
            counted[caller, name] += times
    return counted


def per_request(entries: Entries, baseline: Entries) -> Entries:
    """Divide the entries among the requests; those of timers, more on a busy machine, are less than
    half an entry of each request, and left out.
    """
    return Counter(
        {
            function: round((times - baseline[function]) / REQUESTS)
            for function, times in entries.items()
        }
    )


def find_package(file: str) -> str:
    """Find the package of a file."""
    return next(
        (each for each in (*PACKAGES, *LIBRARIES) if f"{each}/" in file or f"{each}." in file),
        "other",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=0)
    most = parser.parse_args().most
    profile_requests(
        build_request(*CALLS[V1_0.title]), 1
    )  # whatever happens once in a process happens now
    for title, (method, message) in CALLS.items():
        request = build_request(method, message)
        baseline = profile_requests(request, 0)
        entries = per_request(profile_requests(request, REQUESTS), baseline)
        packages: Counter[str] = Counter()
        for (file, _), times in entries.items():
            packages[find_package(file)] += times
        print(f"{title}: {packages.total()} function entries per send")
        for package in (*PACKAGES, *LIBRARIES, "other"):
            print(f"  {package:24} {packages[package]:4}")
        for (file, name), times in entries.most_common(most):
            print(f"  {times:4}  {'/'.join(file.split('/')[-3:])} {name}")


if __name__ == "__main__":
    main()
