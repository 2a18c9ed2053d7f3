"""What a security officer wants to read, one line of JSON for each event, in a log of its own.

    refused   denied   limited          somebody was not let in, may not do something, or asked too often
    cancel                              somebody wants a task to end
    keys-changed   keys-unreadable      the keys of an issuer are others than before, or cannot be read
    signing-keys                        the keys with which this process signs

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
