"""The forms of the apcore SRS as a variant of the wire: calls, answers, and the path of its
card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from litestar import route as route_handler
from litestar.types import ASGIApp

from a2a_contract import srs_forms
from a2a_contract.binding import AnyBinding
from a2a_contract.controllers import AgentController
from a2a_contract.controllers.mount import METHODS
from a2a_contract.dialects import V0_3
from a2a_contract.json_types import is_json_object
from a2a_contract.service import AgentService
from a2a_contract.srs_forms import PATHS
from a2a_contract.v0_3 import AgentCapabilities, AgentCard
from a2a_runtime.features.srs.forms import explain_member, is_card_call, rewrite_call
from a2a_runtime.features.srs.service import SrsService
from a2a_runtime.http.asgi import HttpRequest, read_body
from a2a_runtime.http.dispatcher import Dispatcher
from a2a_runtime.ports.wire_variant import ReadCall, WireVariant

if TYPE_CHECKING:
    from a2a_runtime.service.context import CallContext, ServiceDependencies
    from a2a_runtime.surface import Surface

_CAPABILITIES = AgentCard.wire_name("capabilities")
_HISTORY = AgentCapabilities.wire_name("state_transition_history")
_METHODS = ("GET", "HEAD", "OPTIONS")
_AUTHORIZATION = b"authorization"
_MAX_CARD_CALL_BYTES = 64 * 1024


class SrsController(AgentController):
    """Paths of the apcore SRS below a surface that reads its forms."""

    @route_handler(list(PATHS), http_method=METHODS, include_in_schema=False)
    async def card(self) -> ASGIApp:
        """GET the extended card."""
        from a2a_runtime.features.srs.card import SrsCardEndpoint  # noqa: PLC0415 - it knows the endpoints, which know this
        from a2a_runtime.http.endpoints import get_dispatcher  # noqa: PLC0415 - as above

        return SrsCardEndpoint(get_dispatcher(self))


class SrsForms(WireVariant):
    """Reads requests over JSON-RPC also in the forms of the apcore SRS, and answers those in its
    forms.
    """

    key = "srs_forms"

    def check(self, surface: Surface) -> None:
        """Refuse a surface without 0.3."""
        if srs_forms.DIALECT not in surface.dialects:
            raise ValueError(
                "srs_forms: they are forms of 0.3, which this surface does not have; add "
                f"{V0_3.version!r} to dialects"
            )

    def read_call(self, call: ReadCall) -> ReadCall:
        """Rewrite a call to the one of 0.3 that it stands for."""
        return rewrite_call(call.body)

    async def read_refused(self, dispatcher: Dispatcher, request: HttpRequest) -> bytes | None:
        """Read a call for the public card, which every client may send."""
        if dispatcher.surface.public_card is False or _AUTHORIZATION in request.headers:
            return None
        body = await read_body(request, _MAX_CARD_CALL_BYTES)
        if is_card_call(body):
            return body
        return None

    def build_services(
        self, dependencies: ServiceDependencies
    ) -> Mapping[str, AgentService[CallContext]]:
        """Build the service of 0.3 whose answers are those of the SRS."""
        return {srs_forms.DIALECT: SrsService(dependencies)}

    def list_controllers(self) -> Sequence[type[AgentController]]:
        """List the controller of the extended card."""
        return (SrsController,)

    def list_methods(self, path: str) -> tuple[str, ...]:
        """List the methods of the extended card."""
        if path in PATHS:
            return _METHODS
        return ()

    def write_card(self, card: dict[str, object], surface: Surface, dialect: str) -> None:
        """Write that no history of states is kept; a signed card covers only what 0.3 has."""
        capabilities = card.get(_CAPABILITIES)
        if dialect == srs_forms.DIALECT and surface.signer is None and is_json_object(capabilities):
            card[_CAPABILITIES] = {_HISTORY: False, **capabilities}

    def explain_member(self, binding: AnyBinding, name: str, *, is_call: bool) -> str:
        """Name the switch, if calls in these forms have the member."""
        return explain_member(binding, name, is_call=is_call)
