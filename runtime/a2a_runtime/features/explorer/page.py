"""The page: one HTML file without anything from elsewhere, under a policy that allows exactly the
scripts and styles in it.

In an installation the file lies beside this module; in a checkout its sources do, and are joined on
first use.

    GET explorer/                       the page
    GET explorer/?state=…&code=…        the return of a sign-in: tells the page that has opened it,
                                        and closes
    GET explorer                        leads to explorer/, below which the page finds its API
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from urllib.parse import parse_qs

from a2a_runtime.features.explorer.build_page import build_page
from a2a_runtime.features.pages.html import build_document
from a2a_runtime.http.asgi import (
    HttpRequest,
    send_allowed_methods,
    send_empty_response,
    send_response,
)
from a2a_runtime.http.pages import HTML, HtmlDocument

PAGE_FILE = "explorer.html"
_RETURN_SCRIPT = """
const given = new URLSearchParams(location.search);
const message = {
  type: "a2a-explorer-sign-in",
  state: given.get("state"),
  code: given.get("code"),
  error: given.get("error"),
  description: given.get("error_description"),
};
history.replaceState(null, "", location.pathname);
if (window.opener) window.opener.postMessage(message, location.origin);
const channel = new BroadcastChannel("a2a-explorer-sign-in");
channel.postMessage(message);
setTimeout(() => window.close(), 200);
"""
_RETURN = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signed '
    "in</title></head><body><p>Go back to the explorer; "
    f"this window can be closed.</p><script>{_RETURN_SCRIPT}</script></body></html>"
)


@cache
def load_page() -> HtmlDocument:
    """Load the page of this installation."""
    file = files("a2a_runtime.features.explorer") / PAGE_FILE
    html = file.read_text(encoding="utf-8") if file.is_file() else build_page()
    return build_document(html, images="data: blob:", connects="'self'", opens_popups=True)


@cache
def _load_return_page() -> HtmlDocument:
    return build_document(_RETURN)


async def send_page(request: HttpRequest) -> None:
    """Respond to a request for the page."""
    if request.scope["method"] not in ("GET", "HEAD"):
        await send_allowed_methods(request, ("GET", "HEAD"))
        return
    query = request.scope["query_string"]
    # The router removes the slash from the decoded path; servers may leave this one out.
    # its other members have open types
    path: bytes = request.scope.get("raw_path", b"/")  # pyright: ignore[reportUnknownMemberType]
    if not path.endswith(b"/"):
        location = path.rpartition(b"/")[2] + b"/"
        if query:
            location += b"?" + query
        await send_empty_response(
            request, 307, [(b"location", location), (b"cache-control", b"no-store")]
        )
        return
    is_return = "state" in parse_qs(query.decode("latin-1"))
    document = _load_return_page() if is_return else load_page()
    await send_response(request, document.body, HTML.encode(), headers=document.headers)
