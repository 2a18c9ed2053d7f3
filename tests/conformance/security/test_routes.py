"""Nothing is open that should not be: every route of every app, every method, every dialect by
every name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from conformance.security.guarded_apps import APPS, HOST_PATH, ISSUER
from litestar import Litestar
from litestar.routes import HTTPRoute, WebSocketRoute
from litestar.testing import TestClient

from a2a_contract.controllers import AgentController
from a2a_contract.dialects import VERSION
from a2a_contract.errors import ERRORS, VersionNotSupportedError
from a2a_contract.methods import METHODS
from a2a_contract.operations import OPERATIONS
from a2a_runtime.features.catalog.document import CATALOG_PATH
from a2a_runtime.features.keys.process import JWKS_PATH
from a2a_runtime.http.resource_metadata import METADATA_PATH
from a2a_runtime.plugin import HEALTH_PATH, LIVE_PATH, READY_PATH, READYZ_PATH

HTTP_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
CARDS = re.compile(r".*/\.well-known/agent(-card)?\.json")
PROBES = f"{LIVE_PATH}|{READY_PATH}|{READYZ_PATH}|{HEALTH_PATH}"
PUBLIC = re.compile(
    rf"{HOST_PATH}|/explorer|/schema(/.*)?|{JWKS_PATH}|{PROBES}|{CATALOG_PATH}|{METADATA_PATH}(/.*)?"
)
"""What is public besides the cards: the host's own pages, the documents about the app, its public
keys, probes, the list of public cards, and where tokens come from.
"""

VERSIONS = (None, "", "1.0", "0.3", "0.3.0", "9.9", "nonsense")
TOKEN = {"authorization": f"Bearer {ISSUER.issue_token(org='acme')}"}
REFUSED = 401
NOT_THERE = 404
NOT_ALLOWED = 405

MakeApp = Callable[[], Litestar]

pytestmark = [
    pytest.mark.parametrize("app", APPS.values(), ids=APPS.keys()),
    pytest.mark.requirement("1.0", "7.4"),
]


def list_paths(app: Litestar) -> set[str]:
    """List every path, parameters filled in."""
    return {re.sub(r"\{[^}]*\}", "x", route.path) for route in app.routes}


def list_surfaces(app: Litestar) -> set[str]:
    """List where the endpoints of the surfaces are."""
    return {
        path.removesuffix("/.well-known/agent-card.json")
        for path in list_paths(app)
        if path.endswith("/agent-card.json")
    }


VERSION_REASON = str(ERRORS[VersionNotSupportedError].reason)


def is_rejected(answer: httpx.Response) -> bool:
    """Return whether a response discloses nothing: a challenge, 404, an unsupported version, or the
    allowed methods of a path.
    """
    if answer.status_code == REFUSED:
        return bool(answer.headers.get("www-authenticate"))
    if (answer.status_code, VERSION_REASON in answer.text) == (
        ERRORS[VersionNotSupportedError].http,
        True,
    ):
        return True
    return answer.status_code in {NOT_THERE, NOT_ALLOWED} or (
        answer.request.method == "OPTIONS" and not answer.content
    )


def test_every_route_is_gated_or_on_the_list(app: MakeApp) -> None:
    """A request without a token gets nowhere, whatever its method, except to cards and to what is
    listed here.
    """
    served = app()
    assert not [route for route in served.routes if isinstance(route, WebSocketRoute)]
    with TestClient(served) as client:
        for path in list_paths(served):
            for method in HTTP_METHODS:
                answer = client.request(method, path, follow_redirects=False)
                if CARDS.fullmatch(path) and method in {"GET", "HEAD"}:
                    assert answer.status_code == 200
                elif not PUBLIC.fullmatch(path):
                    assert is_rejected(answer), (method, path, answer.status_code)


def test_public_routes_are_those_of_the_host(app: MakeApp) -> None:
    """The public routes of a surface are its cards, and nothing else."""
    served = app()
    for route in served.routes:
        handlers = route.route_handlers if isinstance(route, HTTPRoute) else [route.route_handler]
        owned = any(
            isinstance(getattr(each.fn, "__self__", None), AgentController) for each in handlers
        )
        assert owned is not bool(PUBLIC.fullmatch(route.path))


@pytest.mark.parametrize("skill", ["shout", "hidden", "nope"])
def test_skills_as_plain_http_are_gated_alike(app: MakeApp, skill: str) -> None:
    """Without a token a hidden skill equals a missing one; the schemas of the other skills are as
    public as the card.
    """
    served = app()
    surfaces = {path.rpartition("/skills/")[0] for path in list_paths(served) if "/skills/" in path}
    assert surfaces == list_surfaces(served)
    with TestClient(served) as client:
        for surface in surfaces:
            assert client.post(f"{surface}/skills/{skill}", json="x").status_code == REFUSED
            schema = client.get(f"{surface}/schemas/{skill}/input.json").status_code
            assert schema == (200 if skill == "shout" else REFUSED)


def operations_below(prefixes: set[str]) -> Iterator[tuple[str, str]]:
    """Write every operation over HTTP below some prefixes, in every dialect."""
    for operation in OPERATIONS.values():
        for call in operation.calls.values():
            for each in call.http:
                path = re.sub(r"\{[^}]*\}", "t-1", each.path)
                yield from ((each.method, prefix + path) for prefix in prefixes)


def test_a_public_prefix_makes_nothing_below_it_public(app: MakeApp) -> None:
    """Operations below a card, a page of the host or the documents are gated like everywhere:
    prefixes mean nothing.
    """
    served = app()
    tricks = {
        "/explorer",
        "/explorerx",
        HOST_PATH,
        "/schema",
        "/schema/x",
        "/.well-known",
        "/.well-known/agent-card.json",
        "//",
        "/%2e%2e",
        "/x/..",
    }
    prefixes = {surface + trick for surface in list_surfaces(served) for trick in tricks} | tricks
    with TestClient(served) as client:
        for method, path in operations_below(prefixes):
            answer = client.request(
                method,
                path,
                json={"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}},
            )
            assert is_rejected(answer), (method, path, answer.status_code, answer.text)


def test_every_dialect_by_every_name_gets_the_same_decision(app: MakeApp) -> None:
    """Methods of all dialects at every endpoint, under every version in every spelling: in with a
    token, out without.
    """
    served = app()
    methods = sorted(
        {method for table in METHODS.values() for method in table} | {"", "nope", "rpc.discover"}
    )
    names = [
        {header: version}
        for version in VERSIONS
        if version is not None
        for header in VERSION.headers
    ]
    with TestClient(served) as client:
        for surface in list_surfaces(served):
            for method in methods:
                body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "t-1"}}
                for headers in ({}, *names):
                    for options in ({"headers": headers}, {"params": headers}):
                        assert is_rejected(client.post(surface or "/", json=body, **options)), (
                            surface,
                            method,
                            options,
                        )
                    let_in = client.post(surface or "/", json=body, headers={**headers, **TOKEN})
                    assert let_in.status_code != REFUSED, (surface, method, headers)


def test_paths_do_not_care_about_versions(app: MakeApp) -> None:
    """Only authenticated callers get the error for a version that a path does not support."""
    served = app()
    with TestClient(served) as client:
        for method, path in operations_below(list_surfaces(served)):
            for version in VERSIONS:
                headers = {} if version is None else {VERSION.headers[0]: version}
                assert is_rejected(client.request(method, path, headers=headers)), (
                    method,
                    path,
                    version,
                )
                let_in = client.request(method, path, headers={**headers, **TOKEN})
                assert let_in.status_code != REFUSED, (method, path, version)
