"""The OpenAPI document of an app of agents as a page of plain HTML.

There is no script and nothing from another server, so that the page works offline and under any
content security policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any

from litestar import Request
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.agent import Agent
from a2a_runtime.features.openapi.document import select_documented
from a2a_runtime.surface import Surface

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its requests open.

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;"
    "max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "summary{cursor:pointer}"
    "code{font-size:.95em}"
    "details{border-top:1px solid #8884;padding:.4rem 0}"
    "table{border-spacing:0 .2rem}"
    "td{padding-right:1rem;vertical-align:top}"
    ".method{display:inline-block;min-width:4.5rem;font-weight:600}"
)
_METHODS = ("get", "post", "put", "patch", "delete")


def build_openapi_config(surfaces: Sequence[Surface]) -> OpenAPIConfig:
    """Build the config of an app that has only agents: their names, the version of the first one,
    and the page.
    """
    agents = list(dict.fromkeys(surface.agent for surface in select_documented(surfaces)))
    described = [each for each in agents if each.description]
    descriptions = [f"{each.name}: {each.description}" for each in described]
    if len(agents) == 1:
        descriptions = [each.description for each in described]
    return OpenAPIConfig(
        title=", ".join(each.name for each in agents) or "agents",
        version=agents[0].version if agents else Agent("agents").version,
        description="\n\n".join(descriptions) or None,
        render_plugins=[PageRenderPlugin()],
    )


class PageRenderPlugin(OpenAPIRenderPlugin):
    """Renders the document as a page."""

    def __init__(self) -> None:
        super().__init__(path="/", favicon="", style="")

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Render the document."""
        return build_page(
            openapi_schema,
            request.scope.get("root_path", "") + self.get_openapi_json_route(request),
        ).encode()


def build_page(document: Mapping[str, Any], document_url: str) -> str:
    """Build the page of a document; everything in it is text, whatever an agent calls itself."""
    info = document["info"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style>"
    )
    paragraphs = "".join(
        f"<p>{escape(each)}</p>"
        for each in str(info.get("description") or "").split("\n\n")
        if each
    )
    schemas = (document.get("components") or {}).get("schemas") or {}
    types = "".join(_build_type(name, schema) for name, schema in sorted(schemas.items()))
    body = "".join(_build_operations(document.get("paths") or {}))
    link = f'<p><a href="{escape(document_url)}">OpenAPI document</a></p>'
    return (
        f'<!doctype html><html lang="en"><head>{head}</head>'
        f"<body><h1>{title}</h1>{paragraphs}{link}{body}<h2>Types</h2>{types}</body></html>"
    )


def _build_operations(paths: Mapping[str, Any]) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, item in paths.items():
        for method in _METHODS:
            if is_json_object(operation := item.get(method)):
                tags = operation.get("tags")
                tag = "other"
                if is_json_array(tags) and tags:
                    tag = str(tags[0])
                by_tag.setdefault(tag, []).append(_build_operation(method, path, operation))
    for tag, operations in by_tag.items():
        yield f"<h2>{escape(tag)}</h2>{''.join(operations)}"


def _build_operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    summary = escape(str(operation.get("summary") or operation.get("description") or ""))
    rows = [
        (f"{each['name']} ({each['in']})", str(each.get("description") or ""))
        for each in operation.get("parameters") or ()
    ]
    if "requestBody" in operation:
        rows.append(("body", _name_type(operation["requestBody"])))
    rows += [
        (f"answer {status}", _name_type(each) or str(each.get("description") or ""))
        for status, each in (operation.get("responses") or {}).items()
    ]
    table = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(text)}</td></tr>"
        for name, text in rows
    )
    head = f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code> {summary}'
    return f"<details><summary>{head}</summary><table>{table}</table></details>"


def _name_type(value: Mapping[str, Any]) -> str:
    """Name the types of a body."""
    schemas = [content.get("schema") or {} for content in (value.get("content") or {}).values()]
    names = chain.from_iterable(map(_list_names, schemas))
    return ", ".join(dict.fromkeys(names))


def _list_names(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield str(schema["$ref"]).rpartition("/")[2]
    for keyword in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(keyword) or ():
            yield from _list_names(each)


def _build_type(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required") or ()
    rows: list[tuple[str, str, str]] = []
    for member, each in (schema.get("properties") or {}).items():
        if is_json_object(each):
            title = member if member in required else f"{member}?"
            types = ", ".join(_list_names(each)) or str(each.get("type", ""))
            rows.append((title, types, str(each.get("description") or "")))
    table = "".join(
        f"<tr><td><code>{escape(a)}</code></td><td>{escape(b)}</td><td>{escape(c)}</td></tr>"
        for a, b, c in rows
    )
    text = escape(str(schema.get("description") or ""))
    head = f"<code>{escape(name)}</code> {text}"
    return f"<details><summary>{head}</summary><table>{table}</table></details>"
