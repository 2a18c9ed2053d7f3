"""The same request elsewhere: curl, the client, a typed client, ``a2a-gen call``, and its raw JSON
in each dialect and binding.

Requests on the wire are made by the protocols of the client, so they are what it sends. Credentials
are placeholders: variables of the environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from shlex import quote
from urllib.parse import urlencode

from pydantic_core import from_json

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import DIALECTS, EXTENSIONS, VERSION, Dialect
from a2a_contract.errors import A2AError, InvalidParamsError, MethodNotFoundError
from a2a_contract.json_types import is_json_object
from a2a_contract.operations import OPERATIONS
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import SendMessageRequest
from a2a_runtime.client.errors import InvalidCardError, NoInterfaceError
from a2a_runtime.client.interface import Interface, interface_from_pin
from a2a_runtime.client.options import GRPC, HTTP_JSON, JSONRPC, Pin
from a2a_runtime.client.protocols import OutgoingRequest, build_protocol
from a2a_runtime.features.explorer.operations import parse_request
from a2a_runtime.features.explorer.session import AgentSession, CardReading
from a2a_runtime.features.explorer.snippets_code import (
    CodeRequest,
    Placeholders,
    build_command,
    build_python,
    build_typed,
)

_BINDINGS = (JSONRPC, HTTP_JSON, GRPC)
_EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy."""

    id: str
    title: str
    language: str
    text: str

    def to_dict(self) -> dict[str, str]:
        """Return the members as JSON."""
        return {"id": self.id, "title": self.title, "language": self.language, "text": self.text}


async def build_snippets(
    session: AgentSession, reading: CardReading, document: object
) -> Mapping[str, object]:
    """Build the snippets of a request that the page has sent."""
    if not is_json_object(document):
        raise InvalidParamsError(fields=(("", "not an object with operation and request"),))
    operation = OPERATIONS.get(str(document.get("operation")))
    if operation is None:
        raise MethodNotFoundError(
            f"{document.get('operation')}: not an operation; use one of {', '.join(OPERATIONS)}"
        )
    if reading.resolved is None:
        raise InvalidCardError(reading.problem)
    request = parse_request(operation, document.get("request", {}))
    interface_id = document.get("interface")
    wanted = interface_id if isinstance(interface_id, str) else None
    _, chosen = session.connect(reading.resolved, wanted)
    addresses = {
        (each.usable.dialect.name, each.usable.transport): each.usable
        for each in reversed(session.list_interfaces(reading.resolved))
        if each.usable is not None
    }
    placeholders = Placeholders.build(session.visitor, reading.resolved.card)
    code = CodeRequest(
        session.agent,
        operation,
        request,
        chosen,
        placeholders,
        reading.resolved.card,
        is_chosen=isinstance(interface_id, str),
    )
    snippets = [
        *_build_curl(code),
        Snippet("python", "Python", "python", build_python(code)),
        *(Snippet("typed", "Typed client", "python", text) for text in build_typed(code)),
        *(Snippet("command", "a2a-gen call", "bash", text) for text in build_command(code)),
        *_build_raw(operation, request, addresses),
    ]
    return {"snippets": [each.to_dict() for each in snippets]}


def _build_curl(code: CodeRequest) -> Iterator[Snippet]:
    """Build the command line of curl; there is none for gRPC."""
    if code.interface.transport == GRPC:
        return
    try:
        outgoing = build_protocol(code.interface).encode(
            code.operation, _with_tenant(code.request, code.interface)
        )
    except A2AError:
        return
    words = ["curl", "--silent", "--show-error"]
    if code.operation.streams:
        words.append("--no-buffer")
    if outgoing.method != "GET":
        words += ("--request", outgoing.method)
    lines = [" ".join(words)]
    lines += [
        f"--header {quote(f'{name}: {value}')}" for name, value in _list_headers(code, outgoing)
    ]
    lines += code.placeholders.to_curl()
    if outgoing.body is not None:
        lines.append(f"--data {quote(_indent(outgoing.body))}")
    query = [*outgoing.query, *code.placeholders.query]
    url = outgoing.url
    if query:
        url = f"{url}?{urlencode(query, safe='$')}"
    lines.append(f'"{url}"' if code.placeholders.query else quote(url))
    yield Snippet("curl", "curl", "bash", " \\\n  ".join(lines))


def _list_headers(code: CodeRequest, outgoing: OutgoingRequest) -> Iterator[tuple[str, str]]:
    if outgoing.media_type:
        yield "Content-Type", outgoing.media_type
    if code.operation.streams:
        yield "Accept", _EVENT_STREAM
    if version := code.interface.dialect.version:
        yield VERSION.headers[0], version
    if isinstance(code.request, SendMessageRequest) and (uris := code.request.message.extensions):
        yield EXTENSIONS.headers[0], ", ".join(uris)


def _build_raw(
    operation: Operation,
    request: WireModel,
    addresses: Mapping[tuple[str, TransportProtocol], Interface],
) -> Iterator[Snippet]:
    """Build the JSON of every dialect and binding that has the operation, first those of the
    card.
    """
    ways = product(DIALECTS.values(), _BINDINGS)
    for dialect, binding in sorted(ways, key=lambda way: (way[0].name, way[1]) not in addresses):
        interface = addresses.get((dialect.name, binding)) or _build_example(dialect, binding)
        if interface is None:
            continue
        try:
            outgoing = build_protocol(interface).encode(operation, _with_tenant(request, interface))
        except A2AError:
            # the dialect has no such operation, or cannot express the request
            continue
        form = "" if dialect.form_of is None else " (ProtoJSON)"
        title = f"{_name_binding(binding)} {dialect.version or dialect.name}{form}"
        note = "" if (dialect.name, binding) in addresses else ", not on the card"
        language = "json" if binding is JSONRPC else "http"
        yield Snippet(
            f"{binding.value.lower()}-{dialect.name}",
            title + note,
            language,
            _write_raw(outgoing, binding),
        )


def _build_example(dialect: Dialect, binding: TransportProtocol) -> Interface | None:
    """Build an interface of an agent that would have this dialect and binding."""
    url = "grpc://agent.example:443" if binding is GRPC else "https://agent.example"
    try:
        return interface_from_pin(url, Pin(dialect.name, binding))
    except NoInterfaceError:
        return None


def _write_raw(outgoing: OutgoingRequest, binding: TransportProtocol) -> str:
    body = "" if outgoing.body is None else _indent(outgoing.body)
    if binding is JSONRPC:
        return body
    query = f"?{urlencode(outgoing.query)}" if outgoing.query else ""
    head = f"{outgoing.method} {outgoing.url}{query}"
    return f"{head}\n\n{body}" if body else head


def _with_tenant(request: WireModel, interface: Interface) -> WireModel:
    is_open = (
        interface.tenant
        and "tenant" in type(request).model_fields
        and "tenant" not in request.model_fields_set
    )
    if is_open:
        return request.model_copy(update={"tenant": interface.tenant})
    return request


def _name_binding(binding: TransportProtocol) -> str:
    return {JSONRPC: "JSON-RPC", HTTP_JSON: "HTTP+JSON", GRPC: "gRPC"}[binding]


def _indent(body: bytes) -> str:
    return json.dumps(from_json(body), indent=2, ensure_ascii=False)
