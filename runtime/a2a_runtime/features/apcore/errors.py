"""Errors of modules as errors of the protocol.

Releases of the framework differ in classes and constructors; each error has a ``code``, by which it
is known here. What a caller reads:

    code                      error                 text
    MODULE_NOT_FOUND          method not found      Skill not found: …
    SCHEMA_VALIDATION_ERROR   invalid parameters    with ``errors``: field, code, message
      of the input
    GENERAL_INVALID_INPUT     invalid parameters    its own
    ACL_DENIED                task not found        Task not found; the log has the truth
    MODULE_TIMEOUT            internal error        Execution timed out
    limits of calls           internal error        Safety limit exceeded
    MODULE_EXECUTE_ERROR      internal error        its own, if the module has raised it itself and
                                                    it names no path
    any other                 internal error        Internal error; the log has the traceback

``data.type`` names the class. Before there is a task an error is the response. In a task it is its
end: failed, with the text in the status and the error object in ``metadata.error`` of the status
message.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from a2a_contract.base import JsonObject
from a2a_contract.dialects import V0_3
from a2a_contract.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    MethodNotFoundError,
    TaskNotFoundError,
)
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.errors import HasErrorData
from a2a_runtime.http.errors import render_error
from a2a_runtime.service.context import ProtocolBinding

MISSING_SKILL = "Missing required parameter: metadata.skillId"
TIMED_OUT = "Execution timed out"
FAILED = "Module execution failed"
_OF_THE_PIPELINE = ("Input validation failed", "Output validation failed")
"""Texts of the executor's own validation.

Once a module runs, its input has passed: then it is the output, or the input of a nested call.
"""
APPROVAL_PENDING = "APPROVAL_PENDING"
CANCELLED = "EXECUTION_CANCELLED"
DENIED = "ACL_DENIED"
SCHEMA_INVALID = "SCHEMA_VALIDATION_ERROR"

_NOT_FOUND = "MODULE_NOT_FOUND"
_INVALID_INPUT = "GENERAL_INVALID_INPUT"
_EXECUTE = "MODULE_EXECUTE_ERROR"
_INVALID_INPUT_CLASS = "InvalidInputError"
_FIXED_TEXTS: Mapping[str, str] = {
    "MODULE_TIMEOUT": TIMED_OUT,
    "CALL_DEPTH_EXCEEDED": "Safety limit exceeded",
    "CIRCULAR_CALL": "Safety limit exceeded",
    "CALL_FREQUENCY_EXCEEDED": "Safety limit exceeded",
    "APPROVAL_DENIED": "Approval denied",
    "APPROVAL_TIMEOUT": "Approval timed out",
    "MODULE_DISABLED": "Module is disabled",
    "CIRCUIT_BREAKER_OPEN": "Module is temporarily unavailable",
    "TASK_LIMIT_EXCEEDED": "Module is temporarily unavailable",
}
_TYPE = "type"
_INTERNAL_TYPE = "InternalError"
_PRIVATE = re.compile(r"Traceback|\bFile \"|[A-Za-z]:\\|(?:^|[\s'\"(=:])~?/[\w.-]+|[\r\n]")
"""Texts that show a path or a traceback."""
_MAX_TEXT_CHARS = 1000
_MAX_ERRORS = 100

log = logging.getLogger(__name__)


class InvalidInputFieldsError(InvalidParamsError, HasErrorData):
    """The input does not match the schema of the module; the data list each error with its field,
    code and message.
    """


class FieldProblem(NamedTuple):
    """An error in the input."""

    field: str
    code: str
    message: str


def build_selection_error(skill_id: str | None) -> A2AError:
    """Build the error of a message that names no skill, or one that is not there."""
    if skill_id is None:
        return InvalidParamsError(MISSING_SKILL, fields=(("metadata.skillId", "Name the skill"),))
    return _build_not_found(skill_id)


def build_input_error(problems: Sequence[FieldProblem]) -> InvalidInputFieldsError:
    """Build the error of an input that does not match its schema."""
    error = InvalidInputFieldsError(
        details={_TYPE: "SchemaValidationError"},
        fields=tuple((each.field, each.message) for each in problems[:_MAX_ERRORS]),
    )
    error.data = {"errors": [each._asdict() for each in problems[:_MAX_ERRORS]]}
    return error


def to_protocol_error(
    error: BaseException, module_id: str, *, is_running: bool = False
) -> A2AError:
    """Convert an exception of a module or of its executor, before its call or in it; what callers
    do not read is logged.
    """
    if isinstance(error, A2AError):
        return error
    code, text = (str(getattr(error, name, None) or "") for name in ("code", "message"))
    is_own = not (is_running and text.startswith(_OF_THE_PIPELINE))
    if is_own and (found := _to_input_error(error, code, text)) is not None:
        return found
    if code == _NOT_FOUND:
        return _build_not_found(module_id)
    cause = getattr(error, "cause", None)
    # the framework wraps unknown exceptions
    if code not in {DENIED, _EXECUTE, *_FIXED_TEXTS} or (code == _EXECUTE and cause is not None):
        log.error("module failed: %s", module_id, exc_info=cause or error)
        return InternalError(details={_TYPE: _INTERNAL_TYPE})
    end = "denied" if code == DENIED else "failed"
    log.warning("module %s: %s: %s", end, module_id, _printable(text))
    if code == DENIED:
        return build_denied_error()
    return InternalError(
        _FIXED_TEXTS.get(code) or _clean(text, FAILED), details={_TYPE: type(error).__name__}
    )


def _to_input_error(error: BaseException, code: str, text: str) -> A2AError | None:
    """Convert an error of the input; ``None`` for any other."""
    if code == SCHEMA_INVALID:
        return build_input_error([*list_problems(getattr(error, "details", None))])
    if code == _INVALID_INPUT or any(
        each.__name__ == _INVALID_INPUT_CLASS for each in type(error).__mro__
    ):
        return InvalidParamsError(_clean(text, FAILED), details={_TYPE: _INVALID_INPUT_CLASS})
    return None


def is_known_code(code: str) -> bool:
    """Return whether a code is that of an error of the framework."""
    return code in _FIXED_TEXTS or code in {
        _NOT_FOUND,
        _INVALID_INPUT,
        _EXECUTE,
        DENIED,
        SCHEMA_INVALID,
    }


def build_denied_error() -> TaskNotFoundError:
    """Build the error of a denied call, which tells nothing of the module and of the rules."""
    return TaskNotFoundError(details={_TYPE: TaskNotFoundError.__name__})


def build_timeout_error() -> InternalError:
    """Build the error of a call that has taken too long."""
    return InternalError(TIMED_OUT, details={_TYPE: "ModuleTimeoutError"})


def to_error_object(error: A2AError) -> JsonObject:
    """Render an error as the object of a JSON-RPC response, for the metadata of a task that has
    failed.
    """
    found: dict[str, Any] = from_json(render_error(error, V0_3.name, ProtocolBinding.JSONRPC).body)[
        "error"
    ]
    return found


def list_problems(
    found: object, required: Sequence[str] = (), inputs: object = None
) -> Iterator[FieldProblem]:
    """List the errors of an input from the details of an error, or from the result of a validation.

    Later releases name a field by a JSON Pointer, and for a missing one only its parent: then the
    name is found by ``required``.
    """
    listed = found.get("errors") if is_json_object(found) else found
    missing = [name for name in required if is_json_object(inputs) and name not in inputs]
    if not is_json_array(listed):
        return
    for each in listed:
        if not is_json_object(each):
            continue
        path = str(each.get("field") or each.get("path") or "").strip("/").replace("/", ".")
        code = str(each.get("code") or each.get("keyword") or "")
        if not path and code == "required" and missing:
            path = missing.pop(0)
        yield FieldProblem(
            path, code, str(each.get("message") or "Invalid value")[:_MAX_TEXT_CHARS]
        )


def _build_not_found(skill_id: str) -> MethodNotFoundError:
    return MethodNotFoundError(
        f"Skill not found: {_printable(skill_id)}", details={_TYPE: "ModuleNotFoundError"}
    )


def _clean(text: str, instead: str) -> str:
    """Return a text that a module has written for its caller, or another one if it shows a path or
    a traceback.
    """
    if not text or _PRIVATE.search(text):
        return instead
    return text[:_MAX_TEXT_CHARS]


def _printable(text: str) -> str:
    return "".join(each for each in text[:_MAX_TEXT_CHARS] if each.isprintable())
