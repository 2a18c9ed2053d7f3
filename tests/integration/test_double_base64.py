"""Files of 0.3 over HTTP+JSON with a2a-sdk 0.3.26, which encodes their bytes twice: both sides have a switch, and nothing else changes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from integration.outcome_agent import serve_on_socket
from peers.environments import interpreter
from peers.sdk_agents import peer_agent

from a2a_contract.v1_0 import Artifact, Part, Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.client import HTTP_JSON, A2AClient, ClientOptions, Pin
from a2a_runtime.double_base64 import decode_once, encode_twice
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.surface import Surface

CONTENT, ONCE, TWICE = b"\xff\xfe\x00", "//4A", "Ly80QQ=="
AS_03 = Pin("v0_3_proto", HTTP_JSON)


def bytes_agent() -> Agent:
    """An agent that says which bytes came, and gives some back."""
    agent = Agent("files", default_input_modes=("*/*",), default_output_modes=("*/*",))

    @agent.skill("bytes")
    async def answer(ctx: TaskContext) -> Artifact:
        came = next(part.raw for part in ctx.message.parts if part.raw is not None)
        return Artifact(artifact_id="bytes", parts=[Part(text=came.hex()), Part(raw=CONTENT, filename="f.bin")])

    return agent


@pytest.mark.peer
@pytest.mark.parametrize(("double", "came"), [(True, [CONTENT.hex(), ONCE]), (False, "UnicodeDecodeError")], ids=["switched", "plain"])
def test_files_of_the_sdks_client(double: bool, came: object) -> None:  # noqa: FBT001 - a row of the table
    """Both directions are right with the switch; without it the SDK cannot read what is right by the specification."""
    script = Path(__file__).parents[1] / "peers" / "files_0_3.py"
    with serve_on_socket(create_app(Surface(bytes_agent(), gate=OpenGate(), double_base64=double))) as client:
        command = [str(interpreter("a2a-sdk-0.3.26")), str(script), str(client.base_url)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == came


@pytest.mark.peer
@pytest.mark.anyio
async def test_files_of_the_sdks_server() -> None:
    """Both directions are right with the switch of the client."""
    with peer_agent("a2a-sdk-0.3.26", "server_0_3.py") as url:
        async with A2AClient(url, options=ClientOptions(pin=AS_03, double_base64=True)) as client:
            task = await client.send([Part(text="bytes"), Part(raw=CONTENT, filename="f.bin")])
    assert isinstance(task, Task)
    text, file = (task.artifacts or [])[0].parts
    assert (text.text, file.raw) == (ONCE, CONTENT)


@pytest.mark.anyio
@pytest.mark.parametrize("pin", [AS_03, Pin("v0_3", HTTP_JSON), Pin("1.0", HTTP_JSON), Pin("0.3")], ids=str)
async def test_both_switches_fit_each_other(pin: Pin) -> None:
    """Also in streams; the other forms and versions know nothing of it."""
    with serve_on_socket(create_app(Surface(bytes_agent(), gate=OpenGate(), double_base64=True))) as http:
        async with A2AClient(str(http.base_url), options=ClientOptions(pin=pin, double_base64=True)) as client:
            task = await client.send([Part(text="bytes"), Part(raw=CONTENT)])
            assert isinstance(task, Task)
            text, file = (task.artifacts or [])[0].parts
            assert (text.text, file.raw) == (CONTENT.hex(), CONTENT)
            assert [event async for event in client.stream([Part(raw=CONTENT)])]


def test_only_files_are_converted() -> None:
    """Not data with members of the same name, and not what is no base64 of base64."""
    document = {"content": [{"file": {"fileWithBytes": ONCE}}, {"data": {"data": {"fileWithBytes": ONCE}}}], "metadata": {"fileWithBytes": ONCE}}
    twice = json.loads(encode_twice(json.dumps(document).encode()))
    assert twice == {**document, "content": [{"file": {"fileWithBytes": TWICE}}, document["content"][1]]}
    assert json.loads(decode_once(json.dumps(twice).encode())) == document
    for kept in (b'{"file":{"fileWithBytes":"//4A"}}', b'{"file":{"fileWithBytes":7}}', b'{"fileWithBytes":', b"[]"):
        assert decode_once(kept) == kept
