"""An agent made with fasta2a 2.x as its documentation shows it, in an environment of its own.

Its answers do not wait for the task.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, Message, TaskIdParams, TaskSendParams
from fasta2a.storage import InMemoryStorage


class Echo(Worker[list[Message]]):
    """Does what the first word of a message says."""

    async def run_task(self, params: TaskSendParams) -> None:
        """Do it."""
        key = params["id"]
        context = params["context_id"]
        text = params["message"]["parts"][0]["text"]
        word, _, number = text.partition(" ")
        await self.storage.update_task(key, state="working")
        if word == "wait":
            await asyncio.sleep(0.05)
        if word in {"count", "pace"}:
            for place in range(int(number)):
                if word == "pace":
                    await asyncio.sleep(0.02)
                chunk = Artifact(artifact_id="result", parts=[{"text": "chunk"}])
                await self.publish_artifact(key, context, chunk, append=place > 0, last_chunk=False)
        await self.storage.update_task(
            key, state="completed", new_artifacts=self.build_artifacts(text)
        )

    async def cancel_task(self, params: TaskIdParams) -> None:
        """Stop."""

    def build_message_history(self, history: list[Message]) -> list[Message]:
        """Keep it."""
        return history

    def build_artifacts(self, result: str) -> list[Artifact]:
        """Answer."""
        return [Artifact(artifact_id=str(uuid.uuid4()), name="result", parts=[{"text": result}])]


storage = InMemoryStorage[list[Message]]()
broker = InMemoryBroker()


@asynccontextmanager
async def _life(made: FastA2A) -> AsyncIterator[None]:
    async with made.task_manager, Echo(broker=broker, storage=storage).run():
        yield


app = FastA2A(
    storage=storage, broker=broker, name="fasta2a", url="http://127.0.0.1/", lifespan=_life
)
