"""Log output: formatters for text and JSON with the request of each line, the request log, the
audit log, and the log of outages.

    handler.setFormatter(build_formatter("json"))    each line names its request and its trace
    handler.addFilter(add_origin)                    the same for a formatter of your own:
                                                     %(request_id)s, %(trace_id)s
    logging.getLogger("uvicorn.access").addFilter(strip_query)

``a2a-gen serve`` sets the first up (``configure_logging``); a host with handlers of its own can do
the same.

    logging.getLogger("a2a_runtime.calls").setLevel("DEBUG")
        the operation of every request and the end of every task
    logging.getLogger("a2a_runtime.access")
        every request of ``a2a-gen serve``, at INFO
    logging.getLogger("a2a_runtime.audit").addHandler(…)
        security events, one line of JSON each

| audit event | |
|---|---|
| ``refused`` ``denied`` ``limited`` | a caller: not authenticated, not permitted, over a limit |
| ``cancel`` | a caller cancels a task |
| ``keys-changed`` ``keys-unreadable`` | the keys of an issuer have changed, or cannot be read |
| ``signing-keys`` | the keys with which this process signs |

No line holds credentials. Text of clients is truncated and loses its control characters, so that it
can neither flood a log nor forge a line.
"""

from __future__ import annotations

import logging
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from a2a_runtime.base.origin import current_origin

MAX_LENGTH = 1000
_PACKAGE = str(Path(__file__).parents[1])
JSON_FORMAT = "json"
TEXT_FORMAT = "text"
request_log = logging.getLogger("a2a_runtime.calls")
audit_log = logging.getLogger("a2a_runtime.audit")
access_log = logging.getLogger("a2a_runtime.access")
_log = logging.getLogger(__name__)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def sanitize(text: str) -> str:
    """Truncate a client's text to 1,000 characters and remove control characters."""
    return _CONTROL.sub("", text[:MAX_LENGTH])


def log_failure(
    logger: logging.Logger, text: str, *arguments: object, error: BaseException
) -> None:
    """Log an exception of a handler with its traceback, which begins with the first frame that is
    not this package's.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        trace = trace.tb_next
    logger.error(text, *arguments, exc_info=(type(error), error, trace or error.__traceback__))


def strip_query(record: logging.LogRecord) -> bool:
    """Remove query strings from the paths in a record of an access log: they may hold keys and
    tokens.
    """
    if isinstance(record.args, tuple):
        record.args = tuple(map(_drop_query, record.args))
    return True


def _drop_query(argument: object) -> object:
    return argument.partition("?")[0] if isinstance(argument, str) else argument


class SanitizingFormatter(logging.Formatter):
    """Formatter that removes control characters; line breaks of a message are escaped, those of a
    traceback stay.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as logging has it
        """Format the message."""
        record.message = sanitize(record.message).replace("\n", "\\n")
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802 - as above
        """Format a traceback, each of its lines truncated."""
        # the argument is what logging itself passes
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]
        return "\n".join(sanitize(line) for line in lines)


class TextFormatter(SanitizingFormatter):
    """Formatter of lines of text: time, level, request and trace where there is one, logger,
    message.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(origin)s%(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        add_origin(record)
        found = vars(record)
        record.origin = ""
        if found["request_id"]:
            ids = dict.fromkeys((found["request_id"], found["trace_id"]))
            record.origin = f"[{' '.join(ids)}] "
        return super().format(record)


class JsonFormatter(logging.Formatter):
    """Formatter of lines of JSON: time, level, logger and message; request, trace, exception and
    the ``extra`` of a record where there are some.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; JSON escapes what could forge a line."""
        add_origin(record)
        extra = {name: value for name, value in vars(record).items() if name not in _RECORD_MEMBERS}
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in extra.items() if value != ""},
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info)
        return to_json(line, fallback=str).decode()


_RECORD_MEMBERS = frozenset(
    (*vars(logging.makeLogRecord({})), "message", "asctime", "color_message", "origin")
)
"""Members of every record; the others come from ``extra``."""


def add_origin(record: logging.LogRecord) -> bool:
    """Add the request and the trace to a record, empty outside of any; for handlers of a host, as a
    filter.
    """
    if not hasattr(record, "request_id"):
        origin = current_origin.get()
        record.request_id, record.trace_id = (
            ("", "") if origin is None else (origin.request_id, origin.trace_id)
        )
    return True


def build_formatter(log_format: str) -> logging.Formatter:
    """Build the formatter of a format."""
    if log_format == JSON_FORMAT:
        return JsonFormatter()
    return TextFormatter()


def configure_logging(level: str, log_format: str) -> None:
    """Log to standard error: warnings, and the records of the runtime and of the server from a
    level.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(build_formatter(log_format))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    # these loggers get a handler of their own: an app may replace those of the root
    for name in ("a2a_runtime", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())


def audit(event: str, **facts: str) -> None:
    """Write an event to the audit log."""
    if audit_log.isEnabledFor(logging.INFO):
        audit_log.info(
            "%s",
            to_json(
                {"event": event, **{name: sanitize(text) for name, text in facts.items()}}
            ).decode(),
        )


class OutageLog:
    """The outages of one service: one line when it becomes unavailable, and one when it is
    available again.

    An outage lasts until a call succeeds and none has failed for a while. The store logs its own
    outages; its callers log nothing.
    """

    __slots__ = ("_began_at", "_calm_seconds", "_failed_at", "_name", "is_open")

    def __init__(self, name: str, *, calm_seconds: float = 1.0) -> None:
        self._name = name
        self._calm_seconds = calm_seconds
        self._began_at = self._failed_at = 0.0
        self.is_open = False
        """Set during an outage: only then a success is of interest."""

    def on_failure(self, reason: object) -> None:
        """Log the beginning of an outage."""
        self._failed_at = time.monotonic()
        if not self.is_open:
            self.is_open = True
            self._began_at = self._failed_at
            _log.warning("%s: unavailable: %s", self._name, reason)

    def on_success(self) -> None:
        """Log the end of an outage."""
        now = time.monotonic()
        if self.is_open and now >= self._failed_at + self._calm_seconds:
            self.is_open = False
            _log.warning("%s: available again after %.1f s", self._name, now - self._began_at)
