"""A short way to the routes that most requests are for: those of plain ASGI apps, of which the framework knows nothing but their paths.

On its own way Litestar looks a path up, copies the scope, keeps a state for it and stands ready to turn exceptions into answers. The endpoints and
cards of surfaces have a use for none of that: it was an eighth of what a message costs in the process.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Litestar's own types leave open what a route handler calls.

from __future__ import annotations

from collections.abc import Awaitable

from litestar import Litestar
from litestar.routes import ASGIRoute
from litestar.types import ASGIApp, Receive, Scope, Send


class FrontDoor:
    """Stands before the router of an app whose routes nothing else stands before: no middleware, no guards."""

    def __init__(self, app: Litestar) -> None:
        self._router = app.asgi_handler
        self._plain: dict[str, ASGIApp] = {each.path: each.route_handler.fn for each in app.routes if isinstance(each, ASGIRoute)}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request to the route of its very path, or to the router, which also knows its other spellings."""
        route = None if scope.get("root_path") else self._plain.get(scope["path"])
        return (route or self._router)(scope, receive, send)
