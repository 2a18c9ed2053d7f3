"""Call styles of an operation in a dialect: one, or two where HTTP+JSON has types of its own.

Each becomes a binding.
"""

from __future__ import annotations

from dataclasses import dataclass

from a2a_gen.ir.model import OperationCall, OperationRow


@dataclass(frozen=True, slots=True)
class CallStyle:
    """The types of one call style, and the constant of its binding."""

    constant: str
    operation: OperationRow
    request: str | None
    result: str | None
    misplaced: tuple[tuple[str, str], ...] = ()


def call_styles(call: OperationCall, operation: OperationRow) -> tuple[CallStyle, ...]:
    """List the call styles of an operation in one dialect."""
    return tuple(
        dict.fromkeys(
            (
                *((_jsonrpc(call, operation),) if call.method else ()),
                *((over_http(call, operation),) if call.http else ()),
            )
        )
    )


def over_http(call: OperationCall, operation: OperationRow) -> CallStyle:
    """Return the call style of HTTP+JSON, which mostly is that of JSON-RPC."""
    jsonrpc = _jsonrpc(call, operation)
    if call.method is None or (call.request, call.result) == (call.http_request, call.http_result):
        return CallStyle(
            jsonrpc.constant, operation, call.http_request, call.http_result, jsonrpc.misplaced
        )
    return CallStyle(
        f"{jsonrpc.constant}_OVER_HTTP",
        operation,
        call.http_request,
        call.http_result,
        jsonrpc.misplaced,
    )


def _jsonrpc(call: OperationCall, operation: OperationRow) -> CallStyle:
    return CallStyle(operation.python.upper(), operation, call.request, call.result, call.misplaced)
