"""What serving costs over gRPC: beside a2a-sdk over gRPC, a bare ``grpc.aio`` server with classes
of protocol buffers, and our own JSON-RPC.

Servers on one core, the load on the other: calls in flight on one connection, with bytes that are
made before. Each answer is looked at before anything is timed. Contestants take turns; the load
itself takes about as long as a call, so compare the CPU of the server.

    python bench/rpc.py
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import uvloop
from contest import LOAD_CORE, Server, ours, pin, sdk
from grpc.aio import Channel, insecure_channel
from serving import message, stream

from a2a_contract import protobuf
from a2a_contract.protobuf_values import write_message
from a2a_runtime.features.grpc.messages import parse_message

SECONDS = 0.8
ROUNDS = 5
MANY = 32
CHUNKS = 10
PATH = "/lf.a2a.v1.A2AService/"
GATES = {"times a2a-sdk over gRPC": 3.4, "of bare gRPC": 0.4}
Call = Callable[[], Awaitable[object]]


def free_address() -> str:
    """Find a free address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def write(method: str, document: object) -> bytes:
    """Write a request."""
    return write_message(protobuf.METHODS[PATH + method].request, json.dumps(document).encode())


def say(text: str) -> object:
    """Build a message."""
    return {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]},
        "metadata": {"skillId": text.split(maxsplit=1)[0]},
    }


async def build_calls(channel: Channel) -> dict[str, Call]:
    """Build the calls, after a look at what each of them answers."""
    send = channel.unary_unary(f"{PATH}SendMessage")
    get = channel.unary_unary(f"{PATH}GetTask")
    follow = channel.unary_stream(f"{PATH}SendStreamingMessage")
    hello = write("SendMessage", say("echo"))
    chunks = write("SendStreamingMessage", say(f"count {CHUNKS}"))
    task = json.loads(
        parse_message(protobuf.METHODS[f"{PATH}SendMessage"].response, await send(hello))
    )["task"]
    assert task["artifacts"][0]["parts"][0]["text"] == "echo", task
    wanted = write("GetTask", {"id": task["id"]})
    assert task["id"].encode() in await get(wanted)
    assert len([each async for each in follow(chunks)]) > CHUNKS

    async def read() -> None:
        async for _ in follow(chunks):
            pass

    return {"send": lambda: send(hello), "get": lambda: get(wanted), "stream of 10": read}


async def load(server: Server, call: Call, seconds: float) -> tuple[float, float]:
    """Keep many calls in flight for a while; return calls per second, and the CPU of the server for
    each.
    """
    ends = time.perf_counter() + seconds
    count = 0
    before = server.cpu

    async def ask() -> None:
        nonlocal count
        while time.perf_counter() < ends:
            await call()
            count += 1

    begun = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(MANY)))
    return count / (time.perf_counter() - begun), (server.cpu - before) / count


async def main() -> None:
    """Print the table."""
    pin(os.getpid(), LOAD_CORE)
    bare = Server("bare gRPC", "bare_grpc", grpc=free_address())
    mine = ours()
    official = sdk()
    json_rpc = ours()
    mine.name = "ours over gRPC"
    official.name = "a2a-sdk over gRPC"
    json_rpc.name = "ours over JSON-RPC"
    mine.grpc = free_address()
    official.grpc = free_address()
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(each) for each in (mine, official, bare, json_rpc)
        ]
        calls = {
            each.name: await build_calls(insecure_channel(each.grpc))
            for each in servers
            if each.grpc
        }
        requests = {"send": message("echo"), "stream of 10": stream(f"count {CHUNKS}")}
        for work in ("send", "get", "stream of 10"):
            found: dict[str, list[tuple[float, float]]] = {each.name: [] for each in servers}
            for turn in range(ROUNDS + 1):
                for server in servers if turn % 2 else reversed(servers):
                    if server.grpc:
                        found[server.name].append(
                            await load(server, calls[server.name][work], SECONDS)
                        )
                    elif work in requests:
                        taken = await server.load(requests[work], MANY, SECONDS)
                        found[server.name].append((taken.rate, taken.cost))
            show(work, {name: measured[1:] for name, measured in found.items() if measured})


def show(work: str, found: dict[str, list[tuple[float, float]]]) -> None:
    """Print the rows of one kind of work."""
    print(f"\n{work}, {MANY} calls in flight")
    cpu = {
        name: statistics.median(each[1] for each in measured) * 1e6
        for name, measured in found.items()
    }
    for name, measured in found.items():
        print(
            f"  {name:22} {statistics.median(each[0] for each in measured):8.0f}/s  "
            f"{cpu[name]:8.0f} µs of CPU"
        )
    mine = cpu["ours over gRPC"]
    for title, other in (
        ("times a2a-sdk over gRPC", cpu["a2a-sdk over gRPC"] / mine),
        ("of bare gRPC", cpu["bare gRPC"] / mine),
    ):
        gate = (
            f"   gate {GATES[title]}: {'kept' if other >= GATES[title] else 'MISSED'}"
            if work == "send"
            else ""
        )
        print(f"  by CPU {other:5.2f} {title}{gate}")


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
