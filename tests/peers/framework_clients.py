"""Clients of agent frameworks, each in an environment of its own: they send one text to the agent
at a URL, and print what they make of the answer.

    python framework_clients.py google-adk http://localhost:8000 "Ada"    {"text": "Hello, Ada!"}

A framework shows a question of the agent as a text too; what matters is that its client gets it and
ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from uuid import uuid4

# ruff: noqa: PLC0415 - each function runs in an environment that has no other framework
# mypy: disable-error-code="import-not-found,import-untyped"
# pyright: reportMissingImports=false


async def call_google_adk(url: str, text: str) -> str:
    """Run a session with the remote agent as its only one."""
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    agent = RemoteA2aAgent(name="remote", agent_card=f"{url}/.well-known/agent-card.json")
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="ada")
    message = types.Content(role="user", parts=[types.Part(text=text)])
    events = runner.run_async(user_id="ada", session_id=session.id, new_message=message)
    parts = [
        part
        async for event in events
        for part in (event.content.parts or [] if event.content else [])
    ]
    return " ".join(
        part.text or json.dumps(part.function_call.args if part.function_call else {})
        for part in parts
    )


async def call_agent_framework(url: str, text: str) -> str:
    """Run the remote agent as one of the framework."""
    from agent_framework_a2a import A2AAgent

    async with A2AAgent(name="remote", url=url) as agent:
        return str((await agent.run(text)).text)


async def call_strands(url: str, text: str) -> str:
    """Invoke the remote agent as one of the framework."""
    from strands.agent.a2a_agent import A2AAgent

    result = await A2AAgent(endpoint=url).invoke_async(text)
    return " ".join(each["text"] for each in result.message["content"] if "text" in each)


async def call_fasta2a(url: str, text: str) -> str:
    """Send a message, and read its task until it has an answer or a question."""
    from fasta2a.client import A2AClient

    client = A2AClient(url)
    response = await client.send_message(
        {
            "role": "user",
            "kind": "message",
            "message_id": str(uuid4()),
            "parts": [{"kind": "text", "text": text}],
        }
    )
    return json.dumps(response, default=str)


async def call_a2akit(url: str, text: str) -> str:
    """Send a message."""
    from a2akit.client import A2AClient

    async with A2AClient(url) as client:
        result = await client.send(text)
        return str(result.text or result)


CLIENTS: dict[str, Callable[[str, str], Awaitable[str]]] = {
    "google-adk": call_google_adk,
    "agent-framework": call_agent_framework,
    "strands": call_strands,
    "fasta2a": call_fasta2a,
    "a2akit": call_a2akit,
}


async def main(framework: str, url: str, text: str) -> None:
    """Call the agent and print the text of the answer."""
    answer = await CLIENTS[framework](url, text)
    sys.stdout.write(json.dumps({"text": answer}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
