"""The whole contract suite."""

from __future__ import annotations

from a2a_runtime.testing.store_contract.changes import ChangeRules
from a2a_runtime.testing.store_contract.contents import ContentRules
from a2a_runtime.testing.store_contract.contexts import ContextRules
from a2a_runtime.testing.store_contract.counters import CounterRules
from a2a_runtime.testing.store_contract.creation import CreationRules
from a2a_runtime.testing.store_contract.expiry import ExpiryRules
from a2a_runtime.testing.store_contract.lists import ListRules
from a2a_runtime.testing.store_contract.outbox import OutboxRules
from a2a_runtime.testing.store_contract.pushes import PushRules
from a2a_runtime.testing.store_contract.races import RaceRules
from a2a_runtime.testing.store_contract.runs import RunRules
from a2a_runtime.testing.store_contract.scopes import ScopeRules
from a2a_runtime.testing.store_contract.writes import WriteRules


class StoreContract(
    CreationRules,
    ChangeRules,
    ContentRules,
    ListRules,
    RaceRules,
    ScopeRules,
    ContextRules,
    RunRules,
    WriteRules,
    PushRules,
    OutboxRules,
    ExpiryRules,
    CounterRules,
):
    """Every rule that the runtime relies on; a store that passes may be used with it."""
