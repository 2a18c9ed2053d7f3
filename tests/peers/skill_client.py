"""Runs in the environment of a2a-sdk 1.x: its client calls a typed skill of the agent at a URL, and
prints the data that comes back.

skill_client.py URL SKILL JSON
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import MessageToDict, ParseDict


async def main(url: str, skill: str, data: str) -> None:
    """Send the data, and print the parts of every artifact."""
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        part = ParseDict({"data": json.loads(data)}, Part())
        request = SendMessageRequest(
            message=Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[part])
        )
        request.metadata["skillId"] = skill
        async for event in client.send_message(request):
            print(  # noqa: T201 - its output
                json.dumps(
                    [
                        MessageToDict(part)["data"]
                        for each in event.task.artifacts
                        for part in each.parts
                    ]
                )
            )


asyncio.run(main(*sys.argv[1:]))
