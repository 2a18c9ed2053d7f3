"""The patch 1.0.1 as a variant of the wire; what it changes stands in the contract."""

from __future__ import annotations

from a2a_contract.dialects import V1_0
from a2a_contract.errors import A2AError, CapabilityError
from a2a_runtime.ports.wire_variant import WireVariant

_NAME = "1.0.1"
_PATCH = next(each for each in V1_0.profiles if each.name == _NAME)


class Profile101(WireVariant):
    """Responds as 1.0.1 over HTTP+JSON and gRPC."""

    key = _NAME
    media_type = _PATCH.media_type

    def select_status(self, error: A2AError, status: str) -> str:
        """Select the status of 1.0.1 for errors of capabilities."""
        if isinstance(error, CapabilityError):
            return dict(_PATCH.statuses).get(status, status)
        return status
