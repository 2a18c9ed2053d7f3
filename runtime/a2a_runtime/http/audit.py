"""Entries of requests in the audit log: who was refused, denied or limited, and who canceled a
task; ``a2a_runtime.base.logs`` describes the log.
"""

from __future__ import annotations

from a2a_contract.errors import PermissionDeniedError, RateLimitedError, UnauthenticatedError
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.logs import audit
from a2a_runtime.http.asgi import HttpRequest

_AUDIT_EVENTS = {
    UnauthenticatedError: "refused",
    PermissionDeniedError: "denied",
    RateLimitedError: "limited",
}


def audit_cancel(request: HttpRequest, caller: Caller, task_id: str) -> None:
    """Record the cancellation of a task in the audit log."""
    audit(
        "cancel", **_audit_fields(request), caller=caller.owner, tenant=caller.tenant, task=task_id
    )


def audit_rejection(request: HttpRequest, error: Exception) -> None:
    """Record an error in the audit log if it denies access."""
    event = next((name for kind, name in _AUDIT_EVENTS.items() if isinstance(error, kind)), None)
    if event is not None:
        audit(event, **_audit_fields(request), caller=request.caller, reason=str(error))


def _audit_fields(request: HttpRequest) -> dict[str, str]:
    return {
        "client": request.client_address,
        "method": request.scope["method"],
        "path": request.scope["path"],
    }
