"""Task scope of a call."""

from __future__ import annotations

import pytest

from a2a_contract.dialects import RESERVED_TENANTS
from a2a_contract.errors import A2AError, InvalidParamsError, PermissionDeniedError
from a2a_runtime.agent import Agent
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.service.context import CallContext
from a2a_runtime.surface import Surface

AGENT = Agent("hello")
AGENT.add("greet", lambda ctx: ctx.text)
SURFACE = Surface(AGENT, "/hello")


@pytest.mark.parametrize(
    ("caller", "tenant", "expected"),
    [
        (Caller("ada"), None, ""),
        (Caller("ada"), "", ""),
        (Caller("ada"), "acme", "acme"),
        (Caller("ada", "acme"), None, "acme"),
        (Caller("ada", "acme"), "acme", "acme"),
    ],
    ids=["no tenant", "an empty one", "named", "known", "named as known"],
)
def test_the_tenant_is_that_of_the_caller_or_of_the_request(
    caller: Caller, tenant: str | None, expected: str
) -> None:
    """A caller without a tenant may name one."""
    assert CallContext(SURFACE, caller).task_scope(tenant) == TaskScope(
        SURFACE.storage_key, expected, "ada"
    )


@pytest.mark.parametrize(
    ("caller", "tenant", "error"),
    [
        (Caller("ada", "acme"), "other", PermissionDeniedError),
        *((Caller("ada"), tenant, InvalidParamsError) for tenant in sorted(RESERVED_TENANTS)),
    ],
    ids=str,
)
def test_another_tenant_is_refused(caller: Caller, tenant: str, error: type[A2AError]) -> None:
    """Reserved names of tenants are refused too."""
    with pytest.raises(error):
        CallContext(SURFACE, caller).task_scope(tenant)
