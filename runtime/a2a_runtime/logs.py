"""Log output: a sanitizing formatter, a filter for query strings, the request log, the audit log, and the log of outages.

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
import time

from pydantic_core import to_json

MAX_LENGTH = 1000
request_log = logging.getLogger("a2a_runtime.calls")
audit_log = logging.getLogger("a2a_runtime.audit")
_log = logging.getLogger(__name__)
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


class OutageLog:
    """The outages of one service: one line when it becomes unavailable, and one when it is available again.

    An outage lasts until a call succeeds and none has failed for a while. The store logs its own outages; its callers log nothing.
    """

    __slots__ = ("_began_at", "_calm_seconds", "_failed_at", "_name", "is_open")

    def __init__(self, name: str, *, calm_seconds: float = 1.0) -> None:
        self._name, self._calm_seconds = name, calm_seconds
        self._began_at = self._failed_at = 0.0
        self.is_open = False
        """Set during an outage: only then a success is of interest."""

    def on_failure(self, reason: object) -> None:
        """Log the beginning of an outage."""
        self._failed_at = time.monotonic()
        if not self.is_open:
            self.is_open, self._began_at = True, self._failed_at
            _log.warning("%s: unavailable: %s", self._name, reason)

    def on_success(self) -> None:
        """Log the end of an outage."""
        now = time.monotonic()
        if self.is_open and now >= self._failed_at + self._calm_seconds:
            self.is_open = False
            _log.warning("%s: available again after %.1f s", self._name, now - self._began_at)
