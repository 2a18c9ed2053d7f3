"""Files of 0.3 over HTTP+JSON and gRPC with a2a-sdk, which encodes their bytes twice: both sides
have a switch, and nothing else changes.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import serve_on_socket
from peers.environments import interpreter
from peers.sdk_agents import peer_agent

from a2a_contract.v1_0 import Artifact, Part, Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.client import GRPC, HTTP_JSON, A2AClient, ClientOptions, Pin
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.double_base64.codec import decode_once, encode_twice
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.surface import Surface

CONTENT = b"\xff\xfe\x00"
ONCE = "//4A"
TWICE = "Ly80QQ=="
AS_03 = Pin("v0_3_proto", HTTP_JSON)
PINS = [
    AS_03,
    Pin("v0_3", HTTP_JSON),
    Pin("1.0", HTTP_JSON),
    Pin("0.3"),
    Pin("0.3", GRPC),
    Pin("1.0", GRPC),
]


def bytes_agent() -> Agent:
    """An agent that says which bytes came, and gives some back."""
    agent = Agent("files", default_input_modes=("*/*",), default_output_modes=("*/*",))

    @agent.skill("bytes")
    async def answer(ctx: TaskContext) -> Artifact:
        came = next(part.raw for part in ctx.message.parts if part.raw is not None)
        return Artifact(
            artifact_id="bytes", parts=[Part(text=came.hex()), Part(raw=CONTENT, filename="f.bin")]
        )

    return agent


CLIENTS = {
    "a2a-sdk 0.3.26": ("a2a-sdk-0.3.26", "files_0_3.py", ()),
    "a2a-sdk 1.3.0": ("a2a-sdk-1.3.0", "files_1_0.py", ()),
    "a2a-js 0.3.14": ("a2a-js-0.3.14", "files_js.mjs", ("0.3",)),
    "a2a-js 1.3.0": ("a2a-js-1.3.0", "files_js.mjs", ("1.0",)),
}
ENCODE_TWICE = frozenset({"a2a-sdk 0.3.26", "a2a-sdk 1.3.0"})
BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
RIGHT = [CONTENT.hex(), ONCE]


@pytest.fixture(scope="module")
def urls() -> Iterator[tuple[str, str]]:
    """The URLs of an agent without the switch, and of one with it."""
    with ExitStack() as stack:
        found = []
        for double in (False, True):
            surface = Surface(
                bytes_agent(),
                gate=OpenGate(),
                variants=("double_base64",) if double else (),
                grpc=GrpcOptions(find_free_address()),
            )
            found.append(str(stack.enter_context(serve_on_socket(create_app(surface))).base_url))
        yield found[0], found[1]


@pytest.mark.peer
@pytest.mark.parametrize("name", CLIENTS)
def test_files_of_the_sdks_clients(urls: tuple[str, str], name: str) -> None:
    """They find each interface of 0.3 on the card; JSON-RPC needs no switch, and elsewhere it is
    right for the SDK for Python only.
    """
    distribution, file, arguments = CLIENTS[name]
    script = str(Path(__file__).parents[3] / "peers" / file)
    place = interpreter(distribution)
    command = ["node", script, str(place.parent)] if file.endswith(".mjs") else [str(place), script]
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        [*command, *arguments, *urls],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    plain, doubled = json.loads(done.stdout)
    right, wrong = (doubled, plain) if name in ENCODE_TWICE else (plain, doubled)
    assert right == dict.fromkeys(BINDINGS, RIGHT)
    assert [binding for binding in BINDINGS if wrong[binding] == RIGHT] == ["JSONRPC"]


@pytest.mark.peer
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("distribution", "script", "text"),
    [("a2a-sdk-0.3.26", "server_0_3.py", "bytes"), ("a2a-sdk-1.3.0", "server_1_0.py", "echo")],
    ids=["0.3.26", "1.3.0"],
)
async def test_files_of_the_sdks_servers(
    distribution: str, script: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both directions are right with the switch of the client, over HTTP+JSON and gRPC."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with peer_agent(distribution, script) as url:
        for binding, options in (
            await list_ways(url, has_http=distribution == "a2a-sdk-0.3.26")
        ).items():
            async with A2AClient(url, options=options) as client:
                task = await client.send([Part(text=text), Part(raw=CONTENT, filename="f.bin")])
            assert isinstance(task, Task)
            came, file = (task.artifacts or [])[0].parts
            assert (came.text, file.raw) == (ONCE if text == "bytes" else text, CONTENT), binding


async def list_ways(url: str, *, has_http: bool) -> Mapping[str, ClientOptions]:
    """List the ways to talk 0.3 to an agent."""
    async with A2AClient(url) as client:
        interfaces = (await client.get_card()).supported_interfaces
    address = next(each.url for each in interfaces if each.protocol_binding == GRPC.value)
    calls = ClientOptions(pin=Pin("0.3"), interface_url=f"grpc://{address}", double_base64=True)
    if has_http:
        return {"HTTP+JSON": ClientOptions(pin=AS_03, double_base64=True), "GRPC": calls}
    return {"GRPC": calls}


@pytest.mark.anyio
@pytest.mark.parametrize("pin", PINS, ids=str)
async def test_both_switches_fit_each_other(urls: tuple[str, str], pin: Pin) -> None:
    """Also in streams; the other forms and versions know nothing of it."""
    async with A2AClient(urls[1], options=ClientOptions(pin=pin, double_base64=True)) as client:
        task = await client.send([Part(text="bytes"), Part(raw=CONTENT)])
        assert isinstance(task, Task)
        text, file = (task.artifacts or [])[0].parts
        assert (text.text, file.raw) == (CONTENT.hex(), CONTENT)
        assert [event async for event in client.stream([Part(raw=CONTENT)])]


def test_only_files_are_converted() -> None:
    """Not data with members of the same name, and not what is no base64 of base64."""
    document = {
        "content": [{"file": {"fileWithBytes": ONCE}}, {"data": {"data": {"fileWithBytes": ONCE}}}],
        "metadata": {"fileWithBytes": ONCE},
    }
    twice = json.loads(encode_twice(json.dumps(document).encode()))
    assert twice == {
        **document,
        "content": [{"file": {"fileWithBytes": TWICE}}, document["content"][1]],
    }
    assert json.loads(decode_once(json.dumps(twice).encode())) == document
    for kept in (
        b'{"file":{"fileWithBytes":"//4A"}}',
        b'{"file":{"fileWithBytes":7}}',
        b'{"fileWithBytes":',
        b"[]",
    ):
        assert decode_once(kept) == kept
