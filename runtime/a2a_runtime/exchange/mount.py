"""Where a surface stands in an app of Litestar: its routes, and what must not stand in their way."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUnknownLambdaType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from litestar import Controller, Router
from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import BaseRouteHandler
from litestar.types import ControllerRouterHandler, Guard
from litestar.utils.predicates import is_async_callable

from a2a_contract.controllers import AgentController, CardController, HttpV03Controller, HttpV10Controller, JsonRpcController
from a2a_contract.dialects import V0_3, V1_0
from a2a_runtime.exchange.exchange import HttpExchange
from a2a_runtime.exchange.framework import shaped
from a2a_runtime.exchange.skills import SkillController
from a2a_runtime.surface import Surface

log = logging.getLogger(__name__)

_PARAMETER = re.compile(r"\{[^}]*\}")
_BY_DIALECT: Mapping[str, type[AgentController]] = {V1_0.name: HttpV10Controller, V0_3.name: HttpV03Controller}


def controllers_of(exchange: HttpExchange) -> list[type[AgentController]]:
    """Make the controllers of a surface."""
    counter = exchange.counter
    surface = counter.surface
    kinds: list[type[AgentController]] = [
        JsonRpcController,
        CardController,
        *(each for name, each in _BY_DIALECT.items() if name in surface.dialects),
        *([SkillController] if any(skill.contract for skill in surface.skills.values()) else []),
    ]
    controllers = [kind.at(surface.path or "/", exchange) for kind in kinds]
    for controller in controllers:
        controller.exception_handlers = {Exception: lambda request, error: shaped(counter, request, error)}
    return controllers


def check_paths(exchanges: Sequence[HttpExchange], hosts: Iterable[ControllerRouterHandler]) -> None:
    """Refuse two surfaces at one path, and routes of the host or of another surface that stand in a surface's way."""
    theirs = dict(_places_of(hosts))
    taken: dict[str, Surface] = {}
    for exchange in exchanges:
        surface = exchange.counter.surface
        other = taken.setdefault(surface.path, surface)
        if other is not surface:
            raise ImproperlyConfiguredException(f"{_name(surface)} and {_name(other)} are at one path; give one of them another path=")
        shapes = [shape for shape, _ in _places_of(controllers_of(exchange))]
        for shape in shapes:
            if shape in theirs:
                raise ImproperlyConfiguredException(
                    f"{_name(surface)} answers at {shape}, where {theirs[shape]} stands already; move that route, or give the surface another path="
                )
        theirs.update(dict.fromkeys(shapes, _name(surface)))
    for path, surface in taken.items():
        if (above := taken.get(path.rpartition("/")[0])) is not None and path:
            log.info("%s stands where a tenant %r of %s would", _name(surface), path.rpartition("/")[2], _name(above))


def check_guards(guards: Iterable[Guard]) -> None:
    """Refuse guards of an app that are no async functions: they would stand before agents too, and cost each request a thread."""
    for guard in guards:
        if not is_async_callable(guard):
            name = getattr(guard, "__qualname__", type(guard).__qualname__)
            raise ImproperlyConfiguredException(
                f"{name} guards every route of this app and is no async function, so that each request to an agent would cost a thread; "
                f"write it as `async def`, put it on your own routes only, or give the surface a gate="
            )


def _name(surface: Surface) -> str:
    return f"agent {surface.agent.name!r} (a surface at {surface.path or '/'})"


def _places_of(handlers: Iterable[ControllerRouterHandler], below: str = "/") -> Iterator[tuple[str, str]]:
    """List the paths of handlers, parameters blanked, and who stands there."""
    for each in handlers:
        if isinstance(each, Router):
            yield from ((_blanked(below, route.path), ", ".join(route.handler_names)) for route in each.routes)
        elif isinstance(each, type) and issubclass(each, Controller):
            members = (getattr(each, name) for name in dir(each))
            own = [member for member in members if isinstance(member, BaseRouteHandler)]
            yield from ((path, f"{each.__name__}: {name}") for path, name in _places_of(own, _prefix_of(each)))
        elif isinstance(each, BaseRouteHandler):
            yield from ((_blanked(below, path), str(each)) for path in each.paths)


def _prefix_of(controller: type[Controller]) -> str:
    """Find the path of a controller, which is there as text only if it was given one: else it is the slot of an attribute."""
    prefix: object = getattr(controller, "path", None)
    return prefix if isinstance(prefix, str) else "/"


def _blanked(*parts: str) -> str:
    pieces = [piece for part in parts for piece in part.split("/") if piece]
    return "/" + "/".join(_PARAMETER.sub("{}", piece) for piece in pieces)
