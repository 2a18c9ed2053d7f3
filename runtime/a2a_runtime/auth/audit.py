"""What a security officer wants to read: who was refused, who was denied, who canceled what. One line of JSON each, in a log of its own.

    logging.getLogger("a2a_runtime.audit").addHandler(…)

No line holds credentials, and what clients have said is cut and stripped of control characters, so that it can neither fill a log nor forge one.
"""

from __future__ import annotations

import logging

from pydantic_core import to_json

from a2a_runtime.logs import plain

log = logging.getLogger("a2a_runtime.audit")


def record(event: str, **facts: str) -> None:
    """Write a line."""
    if log.isEnabledFor(logging.INFO):
        log.info("%s", to_json({"event": event, **{name: plain(text) for name, text in facts.items()}}).decode())
