"""Runs in the environment of a2a-sdk 0.3: sends a file over HTTP+JSON, and prints the text and the file that come back.

    files_0_3.py URL

Nothing of this project is importable here.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import FilePart, FileWithBytes, Message, Part, Role, TextPart


async def main(url: str) -> None:
    """Send the bytes ff fe 00."""
    async with httpx.AsyncClient(timeout=10, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(streaming=False, httpx_client=http, supported_transports=["HTTP+JSON"], use_client_preference=True)
        client = ClientFactory(config).create(card)
        parts = [Part(root=TextPart(text="bytes")), Part(root=FilePart(file=FileWithBytes(bytes="//4A", name="f.bin")))]
        message = Message(message_id=uuid.uuid4().hex, role=Role.user, parts=parts)
        try:
            ((task, _),) = [each async for each in client.send_message(message)]
            text, file = (part.root for part in task.artifacts[0].parts)
            sys.stdout.write(json.dumps([text.text, file.file.bytes]))
        except UnicodeDecodeError as error:
            sys.stdout.write(json.dumps(type(error).__name__))


asyncio.run(main(*sys.argv[1:]))
