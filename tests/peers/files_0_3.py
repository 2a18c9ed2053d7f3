"""Runs in the environment of a2a-sdk 0.3: sends a file over each binding, and prints the text and
the file that come back.

    files_0_3.py URL…

Nothing of this project is importable here.
"""

import asyncio
import json
import sys
import uuid

import grpc
import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import FilePart, FileWithBytes, Message, Part, Role, TextPart


async def send(http: httpx.AsyncClient, url: str, transport: str) -> list[str]:
    """Send the bytes ff fe 00."""
    card = await A2ACardResolver(http, url).get_agent_card()
    config = ClientConfig(
        streaming=False,
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_transports=[transport],
        use_client_preference=True,
    )
    client = ClientFactory(config).create(card)
    parts = [
        Part(root=TextPart(text="bytes")),
        Part(root=FilePart(file=FileWithBytes(bytes="//4A", name="f.bin"))),
    ]
    message = Message(message_id=uuid.uuid4().hex, role=Role.user, parts=parts)
    try:
        ((task, _),) = [each async for each in client.send_message(message)]
    except UnicodeDecodeError as error:
        return [type(error).__name__]
    text, file = (part.root for part in task.artifacts[0].parts)
    return [text.text, file.file.bytes]


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
