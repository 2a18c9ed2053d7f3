"""Errors explained: the words of the table, the section of the specification, the places, and what
to do.

    A2AError          the agent refuses: the row of ``a2a_contract.errors``
    A2AClientError    no usable answer: the text of the client, which names the cure

Each has the HTTP status of its kind, so that the page and tools of browsers see it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from inspect import cleandoc

from a2a_contract.error_sections import SECTIONS
from a2a_contract.errors import (
    ERRORS,
    A2AError,
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from a2a_runtime.client.errors import (
    A2AClientError,
    ConnectError,
    ConnectionLostError,
    MissingCredentialsError,
    NoInterfaceError,
    ResponseTimeoutError,
    TokenError,
    UntrustedOriginError,
)
from a2a_runtime.features.explorer.guard import ForeignRequestError
from a2a_runtime.features.explorer.wire import Masker

_CURES: tuple[tuple[type[Exception], str], ...] = (
    (
        ForeignRequestError,
        (
            "Open the explorer at its own address: the one that the command has printed, or "
            "/explorer of the app."
        ),
    ),
    (UnauthenticatedError, "Sign in with one of the schemes of the card."),
    (PermissionDeniedError, "Sign in as a user who has this right, or ask for it."),
    (RateLimitedError, "Wait as long as the header Retry-After says, then repeat it."),
    (VersionNotSupportedError, "Choose an interface of another version."),
    (ExtensionSupportRequiredError, "Name the extension in the message: its card lists the URI."),
    (ContentTypeNotSupportedError, "Send one of the media types of the skill."),
    (
        TaskNotFoundError,
        "Check the id, and that you are signed in as the one who has started the task.",
    ),
    (TaskNotCancelableError, "The task has ended; nothing is left to cancel."),
    (UnsupportedOperationError, "Choose an interface that has this operation."),
    (UnavailableError, "Try again in a moment."),
    (
        UntrustedOriginError,
        "Start the explorer with --trust and this origin, if the agent runs there.",
    ),
    (MissingCredentialsError, "Sign in with one of the schemes of the card."),
    (
        NoInterfaceError,
        "Choose another interface, or start the explorer without --dialect and --binding.",
    ),
    (TokenError, "Check the client id, and the addresses of the sign-in on the card."),
    (ConnectError, "Check that the agent runs, and its address."),
    (
        ResponseTimeoutError,
        "Stream, or send in the mode immediate; or start the explorer with a longer --timeout.",
    ),
    (ConnectionLostError, "Resume: nothing is lost if the agent numbers its events."),
)
_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (ResponseTimeoutError, HTTPStatus.GATEWAY_TIMEOUT),
    (MissingCredentialsError, HTTPStatus.UNAUTHORIZED),
    (UntrustedOriginError, HTTPStatus.FORBIDDEN),
    (NoInterfaceError, HTTPStatus.BAD_REQUEST),
)


def explain_error(
    error: A2AError | A2AClientError, masker: Masker
) -> tuple[int, dict[str, object]]:
    """Return the status of an error, and its explanation."""
    kind = next((each for each in type(error).__mro__ if each in ERRORS), None)
    row = None if kind is None else ERRORS[kind]
    default = next(
        (status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.BAD_GATEWAY
    )
    message = str(error)
    fields: Sequence[tuple[str, str]] = ()
    details: Mapping[str, str] = {}
    if isinstance(error, A2AError):
        message = error.message
        fields = error.fields
        details = error.details
    section = None
    if kind is not None and not isinstance(error, ForeignRequestError):
        section = SECTIONS.get(kind)
    explained: dict[str, object] = {
        "code": None if row is None else row.code,
        "name": type(error).__name__,
        "message": masker.mask_text(message),
        "description": cleandoc(type(error).__doc__ or ""),
        "fields": [{"path": path, "text": masker.mask_text(text)} for path, text in fields],
        "details": {name: masker.mask_text(text) for name, text in details.items()},
        "section": section,
        "cure": next((text for kind, text in _CURES if isinstance(error, kind)), _suggest(error)),
    }
    status = default if row is None else row.http
    return int(status), explained


def _suggest(error: A2AError | A2AClientError) -> str:
    if isinstance(error, A2AError) and error.fields:
        return "Correct the fields that are named."
    return "Look at the exchange below, and at the log of the agent."
