"""Runs in the environment of a2a-sdk 1.x: sends a file in 0.3 over each binding, and prints the
text and the file that come back.

    files_1_0.py URL…

Nothing of this project is importable here.
"""

import asyncio
import base64
import json
import sys
import uuid

import grpc
import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest


async def send(http: httpx.AsyncClient, url: str, binding: str) -> list[str]:
    """Send the bytes ff fe 00."""
    card = await A2ACardResolver(http, url).get_agent_card()
    kept = [each for each in card.supported_interfaces if each.protocol_version == "0.3"]
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(kept)
    config = ClientConfig(
        streaming=False,
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[binding],
        use_client_preference=True,
    )
    client = ClientFactory(config).create(card)
    parts = [Part(text="bytes"), Part(raw=b"\xff\xfe\x00", filename="f.bin")]
    request = SendMessageRequest(
        message=Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=parts)
    )
    try:
        (event,) = [each async for each in client.send_message(request)]
    except UnicodeDecodeError as error:
        return [type(error).__name__]
    text, file = event.task.artifacts[0].parts
    return [text.text, base64.b64encode(file.raw).decode()]


async def main(*urls: str) -> None:
    """Send it to every agent over every binding."""
    async with httpx.AsyncClient(timeout=10, trust_env=False) as http:
        print(  # noqa: T201 - the result
            json.dumps(
                [
                    {each: await send(http, url, each) for each in ("JSONRPC", "HTTP+JSON", "GRPC")}
                    for url in urls
                ]
            )
        )


asyncio.run(main(*sys.argv[1:]))
