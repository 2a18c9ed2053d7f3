"""Runs in the environment of an official SDK: takes steps with its client one after another, and
prints what came of each as one JSON object.

A step is a coroutine function that gets the client; what it raises is its outcome too, by the name
of the error.
"""

import asyncio
import json
import sys


def state(name: object) -> str:
    """Write a state as 0.3 does, for either SDK."""
    return str(name).removeprefix("TASK_STATE_").replace("_", "-").lower()


async def refusal(call) -> str:  # noqa: ANN001 - the SDK's environment need not know our types
    """Say with which error a call or a stream is refused, or that it is not."""
    try:
        if hasattr(call, "__aiter__"):
            async for _ in call:
                pass
        else:
            await call
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises is what its user sees
        return type(error).__name__
    return "not refused"


async def take(steps, client) -> None:  # noqa: ANN001 - as above
    """Take every step, and print the outcomes."""
    outcomes = {}
    for step in steps:
        try:
            outcomes[step.__name__] = await asyncio.wait_for(step(client), 15)
        except Exception as error:  # noqa: BLE001 - as above
            outcomes[step.__name__] = {"error": f"{type(error).__name__}: {error}"[:500]}
    sys.stdout.write(json.dumps(outcomes) + "\n")
