"""Runs of handlers that reply with a message: within the request, without a task."""

from __future__ import annotations

import asyncio
import logging
from math import inf

from a2a_contract.errors import InvalidAgentResponseError
from a2a_contract.v1_0 import Message
from a2a_runtime.base.clock import Clock
from a2a_runtime.base.logs import log_failure
from a2a_runtime.base.origin import current_origin, limit_origin
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.engine.handlers.skill import Skill, call_handler
from a2a_runtime.engine.replay import find_deadline
from a2a_runtime.engine.signals import TaskEnded

log = logging.getLogger(__name__)


async def run_inline(skill: Skill, context: Context, clock: Clock) -> Message:
    """Call a handler and return its message."""
    outer = current_origin.get()
    deadline = find_deadline(skill.timeout, context.request, clock)
    seconds = None if deadline == inf else deadline - clock.monotonic()
    if seconds is not None:
        current_origin.set(limit_origin(seconds, clock.millis()))
    try:
        async with asyncio.timeout(seconds):
            result = await call_handler(skill, context, _reject_chunk)
            reply = result if isinstance(result, Message) else context.reply(result)
            if not reply.context_id:
                reply = context.bind(reply)
            return context.describe_usage(reply)
    except TaskEnded as signal:
        return context.describe_usage(signal.message)
    except Exception as error:  # the edge of a request: any exception of a handler
        log_failure(log, "handler failed: skill %s", skill.id, error=error)
        raise InvalidAgentResponseError from error
    finally:
        current_origin.set(outer)


async def _reject_chunk(_value: object) -> None:
    raise TypeError(
        "handler: a skill that replies with a message cannot yield; register it with answers='task'"
    )
