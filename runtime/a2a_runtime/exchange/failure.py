"""From whatever is raised while a request is answered to the error of the contract that the caller is told.

What the protocol has no name for is an internal error: its text is fixed, and what happened stands in the log. The same goes for errors of the
runtime's own that speak to an operator (a store that is away says where it is).
"""

from __future__ import annotations

import logging

from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.calls import Fault, UnreadableCallError
from a2a_contract.errors import (
    ERRORS,
    A2AError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    NotACallError,
    ParseError,
    UnavailableError,
)
from a2a_contract.places import MANY, places

log = logging.getLogger(__name__)

_NOT_JSON = "json_invalid"  # Pydantic's name for it
_METHOD = "method"
_FAULTS: dict[Fault, type[A2AError]] = {
    Fault.NOT_JSON: ParseError,
    Fault.NOT_AN_OBJECT: NotACallError,
    Fault.NOT_A_CALL: InvalidRequestError,
    Fault.UNKNOWN_METHOD: MethodNotFoundError,
    Fault.WRONG_PARAMS: InvalidParamsError,
}


def failure_of(error: Exception) -> A2AError:
    """Say what the caller is told about an error; what only the operator may know goes to the log."""
    match error:
        case A2AError():
            return _without_secrets(error)
        case UnreadableCallError():
            return _FAULTS[error.fault](fields=error.fields, details=_details(error))
        case ValidationError():
            return unreadable(error)
        case _:
            log.error("a request failed", exc_info=error)
            return InternalError()


def _details(error: UnreadableCallError) -> dict[str, str]:
    """Name what dialects with words of their own for it name: a method that nobody has, or the one member that is missing."""
    if error.fault is Fault.UNKNOWN_METHOD and error.method is not None:
        return {_METHOD: error.method}
    if error.fault is Fault.NOT_A_CALL and error.method is None:
        return {"member": _METHOD}
    members = [place for place, _ in error.fields if place.isidentifier()]
    return {_METHOD: error.method, "member": members[0]} if members and error.method is not None else {}


def row_class(error: type[A2AError]) -> type[A2AError]:
    """Find which row of the table of errors is meant by a class of errors that may be narrower."""
    return next(each for each in error.__mro__ if each in ERRORS)


def _without_secrets(error: A2AError) -> A2AError:
    kind = row_class(type(error))
    if not issubclass(kind, InternalError | UnavailableError):
        return error
    log.error("a request failed", exc_info=error)
    return error if type(error) is kind else kind()


def unreadable(error: ValidationError, request: type[WireModel] | None = None) -> A2AError:
    """Say what is wrong with a request that is not what its type wants."""
    if error.error_count() > MANY:
        return InvalidParamsError(fields=places(error))
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found and found[0]["type"] == _NOT_JSON:
        return ParseError(fields=places(error))
    return InvalidParamsError(fields=places(error, of=request))
