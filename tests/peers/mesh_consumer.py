"""Runs in the environment of mcp-mesh: its real consumer talks to a producer as it is told to, and
says what came of it, one JSON line each.

Nothing of this project is importable here. A line is ``[what, path, text, token]``; ``what`` names
a function below.
"""

import asyncio
import json
import os
import sys

REPLIES = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # the library logs to where replies are expected

from mesh import _a2a_consumer as consumer  # noqa: E402 - see above


def message(text: str) -> dict:
    """Say something as the scaffolds of mcp-mesh do."""
    return {"role": "user", "parts": [{"type": "text", "text": text}]}


class Bridged:
    """A recorder of the progress that a consumer mirrors."""

    def __init__(self) -> None:
        self.progress: list[list] = []

    async def update_progress(self, part: float, text: str | None) -> None:
        """Take note."""
        self.progress.append([part, text])


async def send(client: consumer.A2AClient, text: str) -> object:
    """Send a message, and wait for the end of its task."""
    response = await client.send(message(text))
    return [response.state, response.artifact_text]


async def submit(client: consumer.A2AClient, text: str) -> object:
    """Send a message, and then wait for the end of its task."""
    job = await client.submit(message(text))
    response = await job.wait()
    return [job.initial_state, response.state, response.artifact_text]


async def bridge(client: consumer.A2AClient, text: str) -> object:
    """Send a message, and mirror its task."""
    mirror = Bridged()
    value = await (await client.submit(message(text))).bridge(mirror)
    return [value, mirror.progress]


async def subscribe(client: consumer.A2AClient, text: str) -> object:
    """Send a message, and collect the events of its task."""
    async with await client.subscribe(message(text)) as stream:
        return [
            [
                event.kind,
                event.state,
                event.progress,
                event.message,
                event.artifact_text,
                event.final,
            ]
            async for event in stream
        ]


async def bridge_stream(client: consumer.A2AClient, text: str) -> object:
    """Send a message, and mirror the events of its task."""
    mirror = Bridged()
    value = await (await client.subscribe(message(text))).bridge(mirror)
    return [value, mirror.progress]


async def cancel(client: consumer.A2AClient, text: str) -> object:
    """Send a message, cancel its task, and wait for that."""
    job = await client.submit(message(text))
    await job.cancel("enough")
    await job.cancel("enough")
    try:
        await job.wait()
    except consumer.A2AJobCanceled:
        return [job.initial_state, (await job.status())["status"]["state"]]
    return "not canceled"


async def duplicate(client: consumer.A2AClient, text: str) -> object:
    """Send one id twice, and then follow it."""
    await client.send(message(text), task_id=f"dup-{text}")
    try:
        await client.send(message(text), task_id=f"dup-{text}")
    except RuntimeError as error:
        refusal = str(error)
    async with await client.subscribe(message(text), task_id=f"dup-{text}") as stream:
        return [
            refusal.partition(": ")[2],
            [[event.state, event.message, event.final] async for event in stream],
        ]


async def main(url: str) -> None:
    """Do what each line says."""
    for line in sys.stdin:
        what, path, text, token = json.loads(line)
        auth = consumer.A2ABearer(token=token) if token else None
        client = consumer.A2AClient(
            url + path, "any", auth=auth, poll_interval=0.05, timeout_default=10.0
        )
        try:
            reply: object = {"result": await globals()[what](client, text)}
        except Exception as error:  # noqa: BLE001 - whatever the consumer raises is its verdict
            reply = {"raised": type(error).__name__, "text": str(error)}
        await client.aclose()
        REPLIES.write(json.dumps(reply) + "\n")
        REPLIES.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
