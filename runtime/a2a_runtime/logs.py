"""What may stand in a log: what clients have said is cut, and stripped of what controls a terminal or forges a line. Pure.

    handler.setFormatter(CleanFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    logging.getLogger("uvicorn.access").addFilter(without_query)

``a2a-gen serve`` logs that way; a host that has handlers of its own can.

    logging.getLogger("a2a_runtime.calls").setLevel("DEBUG")

then tells of every call which operation it is, and of every task how it ends: what an access log does not know, where all calls are one path.
"""

from __future__ import annotations

import logging
import re

from pydantic_core import to_json

MAX_LENGTH = 1000
request_log = logging.getLogger("a2a_runtime.calls")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def sanitize(text: str) -> str:
    """Make a client's text fit for a log: at most 1,000 characters, and none that controls a terminal."""
    return _CONTROL.sub("", text[:MAX_LENGTH])


def strip_query(record: logging.LogRecord) -> bool:
    """Cut the query off the paths in a record of a server's access log: keys and tokens may stand in it."""
    if isinstance(record.args, tuple):
        record.args = tuple(each.partition("?")[0] if isinstance(each, str) else each for each in record.args)
    return True


class SanitizingFormatter(logging.Formatter):
    """Writes records without control characters; line breaks of a message are shown as such, those of a traceback stay."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as logging has it
        """Write the message."""
        record.message = sanitize(record.message).replace("\n", "\\n")
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802 - as above
        """Write a traceback, each of its lines cut."""
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]  # what logging itself hands over
        return "\n".join(sanitize(line) for line in lines)


# What a security officer wants to read, one line of JSON for each event, in a log of its own.
#
#     refused   denied   limited          somebody was not let in, may not do something, or asked too often
#     cancel                              somebody wants a task to end
#     keys-changed   keys-unreadable      the keys of an issuer are others than before, or cannot be read
#     signing-keys                        the keys with which this process signs
#
#     logging.getLogger("a2a_runtime.audit").addHandler(…)
#
# No line holds credentials, and what clients have said is cut and stripped of control characters, so that it can neither fill a log nor forge one.
#

audit_log = logging.getLogger("a2a_runtime.audit")


def audit(event: str, **facts: str) -> None:
    """Write a line."""
    if audit_log.isEnabledFor(logging.INFO):
        audit_log.info("%s", to_json({"event": event, **{name: sanitize(text) for name, text in facts.items()}}).decode())
