"""The extended card at the path of the apcore SRS, on surfaces that read its forms."""

from __future__ import annotations

from a2a_contract.errors import MethodNotFoundError
from a2a_contract.http import Route
from a2a_contract.paths import PATHS as ROUTES
from a2a_contract.srs_forms import DIALECT, PATHS
from a2a_runtime.http.asgi import HttpRequest
from a2a_runtime.http.dispatcher import Dispatcher
from a2a_runtime.http.rest import RestEndpoint


class SrsCardEndpoint(RestEndpoint):
    """Responds as the path of 0.3 does; nothing is there on a surface without a gate."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__(dispatcher, find_card_route())

    async def handle(self, request: HttpRequest) -> None:
        """Respond to a request."""
        if self.dispatcher.surface.effective_gate is None:
            raise MethodNotFoundError
        request.scope["path_params"] = {}  # the router for exact paths leaves them out
        await super().handle(request)


def find_card_route() -> Route:
    """Find the route of 0.3 with the operation of these paths."""
    names = frozenset(PATHS.values())
    for route in ROUTES[DIALECT]:
        bindings = route.bindings.get(("GET", None), ())
        if any(each.binding.operation.name in names for each in bindings):
            return route
    raise LookupError(DIALECT)
