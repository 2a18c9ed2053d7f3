"""Headers of the requests of a client."""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.base import WireModel
from a2a_contract.dialects import (
    EXTENSIONS,
    VERSION,
    Dialect,
)
from a2a_contract.v1_0 import (
    SendMessageRequest,
)
from a2a_runtime.base.origin import Origin, current_origin, inject_trace
from a2a_runtime.client.options import ClientOptions


def build_headers(
    options: ClientOptions, dialect: Dialect, request: WireModel, idempotency_key: str | None
) -> dict[str, str]:
    """Build the headers of a request, under all names of each header: an agent may know only
    one of them.
    """
    headers = dict(options.headers)
    if version := dialect.version:
        headers.update(dict.fromkeys(VERSION.headers, version))
    of_message: Sequence[str] = ()
    if isinstance(request, SendMessageRequest):
        of_message = request.message.extensions or ()
    if extensions := dict.fromkeys((*options.extensions, *of_message)):
        headers.update(dict.fromkeys(EXTENSIONS.headers, ", ".join(extensions)))
    if idempotency_key:
        headers["idempotency-key"] = idempotency_key
    if (origin := current_origin.get()) is not None:
        given = {name.lower() for name in headers}
        headers.update(
            {
                name: text
                for name, text in _describe_origin(options, origin, request).items()
                if name not in given
            }
        )
    return headers | inject_trace()


def _describe_origin(options: ClientOptions, origin: Origin, request: WireModel) -> dict[str, str]:
    """Describe the request or the run from which this client calls: the agent that is called
    refuses cycles, and ends in time.
    """
    configuration = request.configuration if isinstance(request, SendMessageRequest) else None
    is_waiting = configuration is None or not configuration.return_immediately
    return origin.to_headers(
        is_message=isinstance(request, SendMessageRequest),
        now_millis=options.clock.millis(),
        is_waiting=is_waiting,
    )
