"""Log output: a sanitizing formatter, a filter for query strings, the request log and the audit log.

    handler.setFormatter(SanitizingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("uvicorn.access").addFilter(strip_query)

``a2a-gen serve`` sets both up; a host with handlers of its own can do the same.

    logging.getLogger("a2a_runtime.calls").setLevel("DEBUG")          the operation of every request and the end of every task
    logging.getLogger("a2a_runtime.audit").addHandler(…)              security events, one line of JSON each

| audit event | |
|---|---|
| ``refused`` ``denied`` ``limited`` | a caller was not authenticated, not permitted, or over a rate limit |
| ``cancel`` | a caller cancels a task |
| ``keys-changed`` ``keys-unreadable`` | the keys of an issuer have changed, or cannot be read |
| ``signing-keys`` | the keys with which this process signs |

No line holds credentials. Text of clients is truncated and loses its control characters, so that it can neither flood a log nor forge a line.
"""

from __future__ import annotations

import logging
import re

from pydantic_core import to_json

MAX_LENGTH = 1000
request_log = logging.getLogger("a2a_runtime.calls")
audit_log = logging.getLogger("a2a_runtime.audit")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def sanitize(text: str) -> str:
    """Truncate a client's text to 1,000 characters and remove control characters."""
    return _CONTROL.sub("", text[:MAX_LENGTH])


def strip_query(record: logging.LogRecord) -> bool:
    """Remove query strings from the paths in a record of an access log: they may hold keys and tokens."""
    if isinstance(record.args, tuple):
        record.args = tuple(each.partition("?")[0] if isinstance(each, str) else each for each in record.args)
    return True


class SanitizingFormatter(logging.Formatter):
    """Formatter that removes control characters; line breaks of a message are escaped, those of a traceback stay."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as logging has it
        """Format the message."""
        record.message = sanitize(record.message).replace("\n", "\\n")
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802 - as above
        """Format a traceback, each of its lines truncated."""
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]  # what logging itself passes
        return "\n".join(sanitize(line) for line in lines)


def audit(event: str, **facts: str) -> None:
    """Write an event to the audit log."""
    if audit_log.isEnabledFor(logging.INFO):
        audit_log.info("%s", to_json({"event": event, **{name: sanitize(text) for name, text in facts.items()}}).decode())
