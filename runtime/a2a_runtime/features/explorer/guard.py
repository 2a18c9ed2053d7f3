"""Guards of the explorer: a request comes from its own page, at a host that is its own.

X-A2A-Explorer: token      a page of another origin cannot send the header without a permission
                           that is never given
Sec-Fetch-Site, Origin     a browser says which page makes it send a request
Host                       a name that another party controls may lead to this machine
                           (DNS rebinding)
"""

from __future__ import annotations

from collections.abc import Iterable
from secrets import compare_digest

from a2a_contract.errors import PermissionDeniedError
from a2a_runtime.http.asgi import HttpRequest

TOKEN_HEADER = "x-a2a-explorer"  # noqa: S105 - the name of the header
_OWN_SITES = frozenset((b"same-origin", b"none"))


class ForeignRequestError(PermissionDeniedError):
    """The request does not come from the page of the explorer."""


def check_token(request: HttpRequest, token: str) -> None:
    """Refuse a request without the header, or with another token than that of the process."""
    given = request.headers.get(TOKEN_HEADER.encode())
    if given is None:
        raise ForeignRequestError(
            f"Explorer: no header {TOKEN_HEADER}; only its own page calls this"
        )
    if token and not compare_digest(given, token.encode()):
        raise ForeignRequestError(
            "Explorer: another token than that of this process; open the address that the "
            "command has printed"
        )


def check_host(request: HttpRequest, hosts: Iterable[str]) -> None:
    """Refuse a request to another host than those that are given, and one of another page."""
    host = request.headers.get(b"host", b"").decode("latin-1").lower()
    if host not in hosts:
        raise ForeignRequestError(
            f"Explorer: not at the host {host[:100]!r}; open the address that the command "
            "has printed"
        )
    origin = request.headers.get(b"origin")
    site = request.headers.get(b"sec-fetch-site")
    is_own = origin is None or origin.decode("latin-1").lower().partition("://")[2] == host
    if not is_own or (site is not None and site not in _OWN_SITES and not _is_navigation(request)):
        raise ForeignRequestError("Explorer: pages of other origins may not call this")


def _is_navigation(request: HttpRequest) -> bool:
    """Tell whether a browser opens the address in a window, as an issuer leads back to the page; it
    has no token, so it gets no more.
    """
    headers = request.headers
    return request.scope["method"] == "GET" and (
        headers.get(b"sec-fetch-mode"),
        headers.get(b"sec-fetch-dest"),
    ) == (b"navigate", b"document")
