"""Callers whom the host of an agent has authenticated, with its own middleware.

    Surface(agent, "/agent", caller=host_user())           the user in the scope: Litestar's,
                                                           Starlette's, FastAPI's
    Surface(agent, "/agent", caller=host_user("email"))    a member of the user, or a claim, by name
    Surface(agent, "/agent", caller=read_my_session)       a function of the connection that returns
                                                           an ``Identity``, or ``None``

Nothing is guessed: a request without an authenticated user is refused (401), and so is a user
without a name. What a run of a handler knows of its caller is the ``Caller``; it does not see the
user object of the host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import SecurityScheme
from a2a_runtime.auth.authentication import Credentials, Identity, parse_authorization

HostCaller: TypeAlias = Callable[[Credentials], Identity | Awaitable[Identity | None] | None]
"""Identifies the caller of a connection; ``None`` without an authenticated user."""

_SUBJECTS = ("identity", "sub", "id")
"""Members of users and claims that name a caller: of Starlette's users, of tokens, of rows in a
database.
"""


def host_user(
    subject: str | None = None,
    *,
    tenant: str = "",
    scopes: str = "",
    roles: str = "",
    claims: Sequence[str] = (),
    keep_token: bool = False,
) -> HostCaller:
    """Identify callers by the user that the host's middleware has put into the scope.

    Every argument names a member of the user, or else a claim of its token or session. Without a
    name, the subject is the user's ``identity``, the claim ``sub`` or the user's ``id``. ``claims``
    are copied for handlers. ``keep_token`` keeps the bearer token of the request for the run that
    it starts (``client.OnBehalfOf``).
    """

    def identify(connection: Credentials) -> Identity | None:
        user = connection.scope.get("user")
        auth = connection.scope.get("auth")
        if user is None or not _is_authenticated(user):
            return None
        sources = (user, auth, _read_member(auth, "extras"))
        if isinstance(user, str) and subject is None:
            found: object = user
        else:
            found = _find((subject,) if subject else _SUBJECTS, sources)
        if found is None or isinstance(found, bool):
            names = subject or ", ".join(_SUBJECTS)
            raise TypeError(
                f"host_user: {type(user).__name__} has no {names}; name the member or claim "
                "that identifies it: host_user('…')"
            )
        token = ""
        if keep_token:
            token = parse_authorization(connection, "bearer") or ""
        values = {name: _find((name,), sources) for name in claims}
        return Identity(
            str(found),
            str(_find((tenant,), sources) or ""),
            _to_names(_find((scopes,), sources)),
            _to_names(_find((roles,), sources)),
            claims={name: value for name, value in values.items() if value is not None},
            expires_at=_to_seconds(_find(("exp",), sources[1:])),
            token=token,
        )

    return identify


def check_caller_options(surface: object, gate: object, caller: object) -> None:
    """Refuse options of a surface that identify no caller: both of them, or a function that was not
    called.
    """
    if gate is not None and caller is not None:
        raise ValueError(
            f"{surface}: both gate= and caller= are set, and callers have one identity; "
            "remove one of them"
        )
    if gate is not None and (isinstance(gate, type) or not hasattr(gate, "admit")):
        raise TypeError(
            f"{surface}: gate: {gate!r} is not a gate; use OpenGate(), AuthGate(…) or one of "
            "your own"
        )
    if caller is host_user or (caller is not None and not callable(caller)):
        raise TypeError(
            f"{surface}: caller: {caller!r} cannot identify callers; use host_user(), or a "
            "function of the connection"
        )


class HostAuthenticator(NamedTuple):
    """Authenticator of callers whom the host knows, under the security schemes that the agent
    declares.
    """

    identify: HostCaller
    schemes: Mapping[str, SecurityScheme]

    def authenticate(
        self, headers: Mapping[str, str]
    ) -> Identity | Awaitable[Identity | None] | None:
        """Ask the host."""
        # asserted for the types: a fact of AuthGate
        assert isinstance(headers, Credentials), "a gate passes these"  # noqa: S101
        return self.identify(headers)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the declared schemes."""
        return self.schemes


def _is_authenticated(user: object) -> bool:
    """Tell whether a user is authenticated; of some frameworks the member is a method, which is
    true by itself.
    """
    found = _read_member(user, "is_authenticated", default=True)
    if callable(found):
        found = found()
    if not isinstance(found, bool):
        raise TypeError(
            f"host_user: is_authenticated of {type(user).__name__} is a "
            f"{type(found).__name__}, not a bool; "
            "pass a function of the connection as caller= instead"
        )
    return found


def _find(names: Sequence[str], sources: Sequence[object]) -> object:
    """Find the first value by one of some names."""
    for name in filter(None, names):
        for source in sources:
            value = _read_member(source, name)
            if value is not None:
                return value
    return None


def _read_member(source: object, name: str, *, default: object = None) -> object:
    """Read an attribute, or a member of a mapping."""
    if is_json_object(source):
        return source.get(name, default)
    try:
        return getattr(source, name, default)
    except NotImplementedError:
        # Starlette's abstract user raises this
        return default


def _to_names(value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset(value.split())
    if isinstance(value, Iterable):
        return frozenset(map(str, value))
    return frozenset()


def _to_seconds(value: object) -> float | None:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, int | float):
        return float(value)
    return None
