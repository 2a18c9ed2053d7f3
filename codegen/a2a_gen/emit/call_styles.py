"""The ways in which a dialect carries an operation: one, or two where HTTP+JSON has types of its own. Each becomes a binding."""

from __future__ import annotations

from dataclasses import dataclass

from a2a_gen.ir.model import CallRow, OperationRow


@dataclass(frozen=True, slots=True)
class CallStyle:
    """The types of one way, and the constant that its binding becomes."""

    constant: str
    operation: OperationRow
    request: str | None
    result: str | None


def call_styles(call: CallRow, operation: OperationRow) -> tuple[CallStyle, ...]:
    """List the ways of an operation in one dialect."""
    return tuple(dict.fromkeys((*((_jsonrpc(call, operation),) if call.method else ()), *((over_http(call, operation),) if call.http else ()))))


def over_http(call: CallRow, operation: OperationRow) -> CallStyle:
    """Find the way that HTTP+JSON takes, which is mostly that of JSON-RPC."""
    jsonrpc = _jsonrpc(call, operation)
    if call.method is None or (call.request, call.result) == (call.http_request, call.http_result):
        return CallStyle(jsonrpc.constant, operation, call.http_request, call.http_result)
    return CallStyle(f"{jsonrpc.constant}_OVER_HTTP", operation, call.http_request, call.http_result)


def _jsonrpc(call: CallRow, operation: OperationRow) -> CallStyle:
    return CallStyle(operation.python.upper(), operation, call.request, call.result)
