"""Errors of a start in one line, for servers that show what the lifespan protocol gives them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from litestar.exceptions import ImproperlyConfiguredException

from a2a_runtime.base.importing import MissingLibraryError
from a2a_runtime.errors import ConfigurationError, ListenError, StoreUnavailableError

CONFIGURATION_ERRORS = (ConfigurationError, ImproperlyConfiguredException, MissingLibraryError)
_ERRORS_WITH_A_CURE = (*CONFIGURATION_ERRORS, ListenError, StoreUnavailableError)

Send = Callable[[Any], Awaitable[None]]


def describe_start_error(error: BaseException) -> str | None:
    """Describe an exception of a start in one line if each of its causes names its cure."""
    causes = list_causes(error)
    if not all(isinstance(each, _ERRORS_WITH_A_CURE) for each in causes):
        return None
    return "; ".join(map(_describe, causes))


def list_causes(error: BaseException) -> list[BaseException]:
    """List the exceptions of a group, each once."""
    return list(dict.fromkeys(_flatten(error)))


def shorten_failures(send: Send) -> Send:
    """Wrap the ``send`` of a lifespan: a start that fails is one line instead of tracebacks."""

    async def send_short(message: Any) -> None:  # noqa: ANN401 - of any server
        error = sys.exc_info()[1]  # Litestar sends the failure while it handles the error
        if message["type"] == "lifespan.startup.failed" and error is not None:
            reason = describe_start_error(error)
            message = message if reason is None else {**message, "message": reason}
        await send(message)

    return send_short


def _describe(error: BaseException) -> str:
    if isinstance(error, ImproperlyConfiguredException):
        return error.detail
    return str(error)


def _flatten(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _flatten(each)
    else:
        yield error
