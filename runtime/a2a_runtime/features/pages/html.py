"""HTML pages: a document with a policy that allows exactly the scripts and styles in it, and the
page at the root of an app of agents.

A browser that opens the address of an agent sees what it is and how it is called. Every other
client gets the response that it always had.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from shlex import quote

from litestar.types import HTTPScope

from a2a_contract.routes.cards import CARDS
from a2a_runtime.http.asgi import Header, base_url
from a2a_runtime.http.pages import HtmlDocument
from a2a_runtime.service.cards.builder import resolve_url
from a2a_runtime.surface import Surface

_INLINE = re.compile(
    r"<(?P<tag>script|style)\b[^>]*>(?P<text>.*?)</(?P=tag)\s*>", re.DOTALL | re.IGNORECASE
)
_MAX_SKILLS = 50
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 "
    "1rem;color-scheme:light dark}"
    "h2{margin-top:2rem}pre{overflow-x:auto;padding:.7rem;border:1px solid "
    "#8884;border-radius:.4rem}dt{font-weight:600}dd{margin:0 0 .6rem}"
    "nav a{margin-right:1.2rem}p,dd{overflow-wrap:anywhere}"
)


def build_document(
    html: str, *, images: str = "'none'", connects: str = "'none'", opens_popups: bool = False
) -> HtmlDocument:
    """Build a document and the policy for exactly its scripts and styles."""
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for found in _INLINE.finditer(html):
        digest = b64encode(sha256(found["text"].encode()).digest()).decode()
        hashes[found["tag"].lower()].append(f"'sha256-{digest}'")
    scripts, styles = (
        " ".join(dict.fromkeys(hashes[tag])) or "'none'" for tag in ("script", "style")
    )
    policy = (
        f"default-src 'none'; connect-src {connects}; script-src {scripts}; style-src "
        f"{styles}; img-src {images}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers: list[Header] = [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    ]
    if opens_popups:
        headers.append((b"cross-origin-opener-policy", b"same-origin-allow-popups"))
    return HtmlDocument(html.encode(), tuple(headers))


def build_landing_page(
    scope: HTTPScope, surfaces: Sequence[Surface], *, has_explorer: bool
) -> HtmlDocument:
    """Build the page at the root of an app of agents; an agent whose card is not public is not on
    it.
    """
    public = [each for each in surfaces if each.public_card is not False]
    title = escape(", ".join(each.agent.name for each in public) or "A2A agent")
    root = base_url(scope, "")
    links = [("Explorer: try it here", f"{root}/explorer/")] if has_explorer else []
    links += [("OpenAPI documentation", f"{root}/schema")]
    navigation = "".join(f'<a href="{escape(url)}">{text}</a>' for text, url in links)
    agents = ""
    for each in public:
        agents += "".join(_build_agent(each, resolve_url(each, base_url(scope, each.path))))
    hidden = (
        ""
        if public
        else "<p>An agent of the Agent2Agent protocol. Its card is for callers that it knows.</p>"
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{title}</title><style>{_STYLE}</style>'
    )
    body = f"<main>{agents or '<h1>A2A agent</h1>'}{hidden}<nav>{navigation}</nav></main>"
    return build_document(
        f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    )


def _build_agent(surface: Surface, url: str) -> Iterator[str]:
    agent = surface.agent
    yield f"<h1>{escape(agent.name)} {escape(agent.version)}</h1>"
    yield "".join(f"<p>{escape(each)}</p>" for each in agent.description.split("\n\n") if each)
    skills = [(key, skill) for key, skill in surface.skills.items() if not skill.only_extended]
    if skills:
        yield "<h2>Skills</h2><dl>"
        yield "".join(
            f"<dt>{escape(key)}</dt><dd>{escape(skill.description or skill.name)}</dd>"
            for key, skill in skills[:_MAX_SKILLS]
        )
        yield "</dl>" + (
            f"<p>and {len(skills) - _MAX_SKILLS} more on the card</p>"
            if len(skills) > _MAX_SKILLS
            else ""
        )
    word = quote(skills[0][0]) if skills else "--auto"
    card = url + CARDS[0].path
    yield f'<h2>Call it</h2><pre>a2a-gen call {escape(quote(url))} {escape(word)} "Hello"</pre>'
    yield (
        "<p>This is the address for clients of the Agent2Agent protocol: "
        f'<code>{escape(url)}</code>. <a href="{escape(card)}">Its card</a></p>'
    )
