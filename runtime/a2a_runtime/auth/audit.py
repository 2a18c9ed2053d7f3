"""What a security officer wants to read: who was refused, who was denied, who canceled what. One line of JSON each, in a log of its own.

    logging.getLogger("a2a_runtime.audit").addHandler(…)

No line holds credentials, and what clients have said is cut and stripped of control characters, so that it can neither fill a log nor forge one.
"""

from __future__ import annotations

import logging
import re

from pydantic_core import to_json

log = logging.getLogger("a2a_runtime.audit")

_LENGTH = 1000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Make a client's text fit for a log: at most 1,000 characters, and none that controls a terminal."""
    return _CONTROL.sub("", text[:_LENGTH])


def record(event: str, **facts: str) -> None:
    """Write a line."""
    if log.isEnabledFor(logging.INFO):
        log.info("%s", to_json({"event": event, **{name: plain(text) for name, text in facts.items()}}).decode())
