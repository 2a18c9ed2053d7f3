"""An agent in a Litestar app with users of its own."""

from __future__ import annotations

from typing import Any

import pytest
from integration.hosts.users import (
    HEADERS,
    MESSAGE,
    build_agent,
    build_surfaces,
    check_users_are_apart,
)
from litestar import Litestar, Request, get
from litestar.connection import ASGIConnection
from litestar.exceptions import ImproperlyConfiguredException
from litestar.middleware import (
    AbstractAuthenticationMiddleware,
    AuthenticationResult,
    DefineMiddleware,
)
from litestar.security.jwt import JWTAuth, Token
from litestar.testing import TestClient

from a2a_runtime.agent import Agent
from a2a_runtime.auth import (
    ApiKeyAuthenticator,
    AuthGate,
    Credentials,
    HostCaller,
    Identity,
    OpenGate,
    digest_key,
    host_user,
)
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS


class Member:
    """A user of the host."""

    def __init__(self, name: str) -> None:
        self.id = name


async def load_member(
    token: Token, _connection: ASGIConnection[Any, Any, Any, Any]
) -> Member | None:
    """Load the user of a token."""
    return Member(token.sub)


JWT = JWTAuth[Member, Token](
    retrieve_user_handler=load_member,
    token_secret="a secret of thirty-two characters",  # noqa: S106
    exclude=["/agent/.well-known"],
)
TOKENS = {name: {"Authorization": JWT.create_token(name)} for name in ("ada", "bob")}
TOKENS = {
    name: {"Authorization": f"Bearer {each['Authorization'].removeprefix('Bearer ')}"}
    for name, each in TOKENS.items()
}


class HeaderMiddleware(AbstractAuthenticationMiddleware):
    """Takes the user from a header, and lets requests without one through, as a session does."""

    async def authenticate_request(
        self, connection: ASGIConnection[Any, Any, Any, Any]
    ) -> AuthenticationResult:
        """Return a user or none."""
        name = connection.headers.get("x-user")
        return AuthenticationResult(user={"name": name} if name else None, auth=None)


@get("/me")
async def me(request: Request[Any, Any, Any]) -> str:
    """Name the user: a route of the host."""
    return str(request.user.id)


def build_app(caller: HostCaller) -> Litestar:
    """Build a host whose middleware puts users into the scope."""
    plugin = A2APlugin(*build_surfaces(caller), settings=FAST_SETTINGS)
    return Litestar(
        plugins=[plugin], middleware=[DefineMiddleware(HeaderMiddleware)], logging_config=None
    )


def test_users_of_jwt_auth_are_the_callers() -> None:
    """Two users never see each other's tasks; the host's own routes are untouched, and so are its
    root and its 404.
    """
    plugin = A2APlugin(*build_surfaces(host_user()), settings=FAST_SETTINGS)
    app = Litestar([me], plugins=[plugin], on_app_init=[JWT.on_app_init], logging_config=None)
    with TestClient(app) as client:
        check_users_are_apart(client, TOKENS)
        assert client.get("/me", headers=TOKENS["ada"]).text == "ada"
        assert client.get("/agent/.well-known/agent-card.json").status_code == 200
        for path in ("/", "/nothing", "/.well-known/agent-card.json"):
            assert client.get(path, headers=TOKENS["ada"]).json() == {
                "status_code": 404,
                "detail": "Not Found",
            }


def test_users_of_a_middleware_are_the_callers() -> None:
    """A user that is None is not authenticated, although the host lets the request through."""
    with TestClient(build_app(host_user("name"))) as client:
        check_users_are_apart(client)


def test_a_function_may_read_the_connection() -> None:
    """Sync or async; a name that no caller may have is refused."""

    async def read_header(connection: Credentials) -> Identity | None:
        name = connection.get("x-user")
        if name is None:
            return None
        return Identity(name)

    with TestClient(build_app(read_header)) as client:
        check_users_are_apart(client)
        assert (
            client.post(
                "/agent/message:send", json=MESSAGE, headers={"x-user": "team:all"}
            ).status_code
            == 401
        )


def test_a_user_without_the_expected_member_is_an_error_of_the_host(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log says what to write; the client gets no caller, and no details."""
    with TestClient(build_app(host_user())) as client:
        response = client.post("/agent/message:send", json=MESSAGE, headers=HEADERS["ada"])
    assert response.status_code == 500
    assert "host_user('…')" in caplog.text
    assert "host_user" not in response.text


def test_a_surface_of_a_host_says_who_its_callers_are() -> None:
    """The error names the three ways; each of them starts."""
    with pytest.raises(
        ValueError,
        match=r"'/agent' of agent 'who': nothing identifies.*gate=.*caller=host_user\(\).*OpenGate",
    ):
        Litestar(plugins=[A2APlugin(build_agent())])
    gate = AuthGate(ApiKeyAuthenticator({digest_key("k" * 32): Identity("ada")}))
    for surface in (
        Surface(build_agent(), gate=OpenGate()),
        Surface(build_agent(), gate=gate),
        Surface(build_agent(), caller=host_user()),
    ):
        with TestClient(
            Litestar(plugins=[A2APlugin(surface, settings=FAST_SETTINGS)], logging_config=None)
        ):
            pass
    with pytest.raises(ValueError, match="both gate= and caller= are set"):
        Surface(build_agent(), gate=OpenGate(), caller=host_user())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"caller": host_user}, r"caller: <function host_user.*; use host_user\(\)"),
        ({"caller": "user"}, "caller: 'user' cannot identify callers"),
        ({"gate": OpenGate}, r"gate: <class .*OpenGate'> is not a gate; use OpenGate\(\)"),
        ({"gate": "open"}, "gate: 'open' is not a gate"),
    ],
)
def test_options_that_identify_no_caller_are_refused_before_the_start(
    options: Any,  # noqa: ANN401 - any options
    problem: str,
) -> None:
    """A factory without its brackets, and text, are refused as caller and as gate."""
    with pytest.raises(TypeError, match=problem):
        Surface(build_agent(), **options)


def test_users_of_a_host_do_not_exist_over_grpc() -> None:
    """The error says what to write."""
    with pytest.raises(ValueError, match=r"grpc: caller= identifies users.*set gate=AuthGate"):
        Surface(build_agent(), "/agent", caller=host_user(), grpc=GrpcOptions("127.0.0.1:50051"))


def test_options_of_the_plugin_are_for_agents() -> None:
    """Options of the plugin are refused beside surfaces, which have their own."""
    with pytest.raises(ImproperlyConfiguredException, match="path: no agent to apply it to"):
        A2APlugin(Surface(build_agent(), gate=OpenGate()), path="/x")
    assert A2APlugin(build_agent(), path="/x", gate=OpenGate()).surfaces[0].path == "/x"


def test_an_open_gate_enforces_no_declared_requirement() -> None:
    """With an open gate, as without a gate, declared requirements are not enforced."""
    agent = Agent("declared", security_requirements=[])
    agent.add("x", lambda _ctx: "x")
    assert Surface(agent, gate=OpenGate()).effective_gate is None
