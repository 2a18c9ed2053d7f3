"""How an operation is asked and its answer heard at one interface: in a JSON-RPC envelope, or with a verb and a path.

Everything that differs between dialects stands in their bindings; what is left is the envelope, the address and the shape of errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding, Operation
from a2a_contract.dialects import CANONICAL, DIALECTS, Dialect
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.field_paths import field_paths
from a2a_contract.http import PathBuilder
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.jsonrpc import ErrorObject, JsonRpcResponseParser, serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.paths import PATHS
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCard, AgentInterface
from a2a_runtime.client.errors import InvalidResponseError, NoInterfaceError, error_from_http, error_from_jsonrpc
from a2a_runtime.client.options import HTTP_JSON, JSONRPC, Pin

# Where and how to talk to an agent: a pure choice among the interfaces of its card.
#
# The newest version that both speak comes first; within a version the agent's own order counts, as its card lists its interfaces. 0.3 over HTTP+JSON
# has two forms, of which the official SDK, and so almost everybody, speaks the one in ProtoJSON. A pin takes away whatever it does not name.
#

_DIALECT_RANK = {name: rank for rank, name in enumerate(DIALECTS)}
_HTTPS, _HTTP = "https", "http"


@dataclass(frozen=True, slots=True)
class Interface:
    """An address at which a dialect is spoken over a transport."""

    url: str
    dialect: Dialect
    transport: TransportProtocol
    tenant: str | None = None


def interface_from_pin(url: str, pin: Pin) -> Interface:
    """Make the interface of somebody who knows it."""
    dialect = DIALECTS[pin.dialect] if pin.dialect else CANONICAL
    transport = pin.transport or (JSONRPC if dialect.jsonrpc else HTTP_JSON)
    if not _is_supported(dialect, transport):
        raise NoInterfaceError(f"{dialect.title} is not spoken over {transport.value}; pin another dialect or transport")
    return Interface(url, dialect, transport)


def choose_interface(card: AgentCard, card_dialect: Dialect, card_url: str, pin: Pin) -> Interface:
    """Choose an interface of a card, which was found in a dialect at a URL."""
    found = [interface for listed in card.supported_interfaces for interface in _list_usable(listed, card_dialect, card_url)]
    wanted = [each for each in found if pin.dialect in (None, each.dialect.name) and pin.transport in (None, each.transport)]
    if not wanted:
        raise NoInterfaceError(_describe_mismatch(card, pin))
    return min(wanted, key=lambda each: _DIALECT_RANK[_get_base_dialect(each.dialect).name])


def _list_usable(listed: AgentInterface, card_dialect: Dialect, card_url: str) -> Iterator[Interface]:
    """List the ways to use an interface; one that leads from a safe address to an unsafe one has none."""
    url = urljoin(card_url, listed.url)
    scheme = urlsplit(url).scheme
    if scheme not in (_HTTPS, _HTTP) or (scheme == _HTTP and urlsplit(card_url).scheme == _HTTPS):
        return
    spoken = [each for each in DIALECTS.values() if each.version and each.version == _to_minor_version(listed.protocol_version)]
    for dialect in sorted(spoken, key=lambda each: each.form_of is None) or ([card_dialect] if card_dialect is not CANONICAL else []):
        transport = TransportProtocol(listed.protocol_binding.upper())
        if _is_supported(dialect, transport):
            yield Interface(url, dialect, transport, listed.tenant or None)


def _is_supported(dialect: Dialect, transport: TransportProtocol) -> bool:
    if transport == JSONRPC:
        return dialect.jsonrpc
    return transport == HTTP_JSON and _get_base_dialect(dialect).name in PATHS


def _get_base_dialect(dialect: Dialect) -> Dialect:
    return DIALECTS[dialect.form_of] if dialect.form_of else dialect


def _to_minor_version(version: str) -> str:
    return ".".join(version.strip().split(".")[:2])


def _describe_mismatch(card: AgentCard, pin: Pin) -> str:
    listed = ", ".join(f"{each.protocol_version or '?'} over {each.protocol_binding} at {each.url}" for each in card.supported_interfaces)
    limits = ", ".join(filter(None, (pin.dialect, pin.transport and pin.transport.value)))
    return f"The agent offers {listed or 'no interface'}" + (
        f", and the client is pinned to {limits}" if limits else ", none of which this client speaks"
    )


_EXCERPT_BYTES = 200
_MAX_FIELDS = 3
_KIND_MEMBER = "kind"


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request as HTTP carries it."""

    method: str
    url: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    media_type: str = ""
    should_authenticate: bool = True
    """Whether it goes to the agent, or to where its card leads; only the agent is shown who we are."""


class ClientProtocol(ABC):
    """Asks and hears in one dialect at one address."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self._readers: dict[tuple[str, str], JsonRpcResponseParser[WireModel]] = {}

    @abstractmethod
    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Say a canonical request in the dialect."""

    @abstractmethod
    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Read an answer, or raise what it refuses."""

    def extract_result(self, body: bytes) -> bytes:
        """Give what an answer holds, without what the transport puts around it."""
        return body

    @abstractmethod
    def to_error(self, operation: Operation, status: int, body: bytes) -> Exception:
        """Make the error of an answer whose status is not a good one."""

    @abstractmethod
    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find how the dialect asks for an operation, if it does."""

    def _require_binding(self, operation: Operation) -> AnyBinding:
        binding = self.find_binding(operation)
        if binding is None:
            spoken = f"{self.interface.dialect.title} over {self.interface.transport.value}"
            raise UnsupportedOperationError(f"{spoken} has no {operation.name}", details={"operation": operation.name})
        return binding

    def _get_reader(self, binding: AnyBinding) -> JsonRpcResponseParser[WireModel]:
        key = (binding.dialect, binding.operation.name)
        if key not in self._readers:
            self._readers[key] = JsonRpcResponseParser(binding.response)
        return self._readers[key]


class JsonRpcProtocol(ClientProtocol):
    """Calls methods at one address."""

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Put a request into an envelope."""
        binding = self._require_binding(operation)
        method = operation.calls[binding.dialect].method or ""
        body = serialize_call(method, str(uuid4()), binding.encode_request(request))
        return OutgoingRequest("POST", self.interface.url, body=body, media_type=self.interface.dialect.media_types[0])

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Take an answer out of its envelope."""
        try:
            heard = self._get_reader(self._require_binding(operation)).parse_envelope(body)
        except ValueError as error:
            raise _build_invalid_response(operation, error, body) from error
        if isinstance(heard, ErrorObject):
            raise error_from_jsonrpc(self.interface.dialect.name, heard)
        return heard

    def extract_result(self, body: bytes) -> bytes:
        """Take the result out of its envelope."""
        envelope: object = from_json(body)
        return to_json(envelope.get("result")) if is_json_object(envelope) else body

    def to_error(self, operation: Operation, status: int, body: bytes) -> Exception:
        """Look for an envelope first; what answers without one is seldom the agent."""
        try:
            heard = JsonRpcResponseParser[WireModel](None).parse_envelope(body)
        except ValueError:
            heard = None
        if isinstance(heard, ErrorObject):
            return error_from_jsonrpc(self.interface.dialect.name, heard, status)
        return error_from_http(self.interface.dialect.name, operation, status, body)

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the method."""
        dialect = self.interface.dialect.name
        call = operation.calls.get(dialect)
        return METHODS[dialect].get(call.method) if call and call.method else None


class RestProtocol(ClientProtocol):
    """Asks at many paths; an answer in another form of the same version is understood too."""

    def __init__(self, interface: Interface) -> None:
        super().__init__(interface)
        family = interface.dialect.form_of or interface.dialect.name
        forms = [each for each in DIALECTS.values() if family in (each.name, each.form_of)]
        forms.sort(key=lambda each: each is not interface.dialect)
        self._path_builders: Mapping[str, PathBuilder] = {each.name: PathBuilder(each.name, PATHS[family]) for each in forms}

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Find the path of a request, and what goes into its query and body."""
        binding = self._require_binding(operation)
        method, path, query, body = self._path_builders[binding.dialect].build(operation, binding.encode_request(request))
        media_type = self.interface.dialect.media_types[0] if body is not None else ""
        return OutgoingRequest(method, self.interface.url.rstrip("/") + path, query, body, media_type)

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Read an answer in the form that it shows."""
        binding = self._require_binding(operation)
        if binding.response is None:
            return None
        try:
            shown = self._detect_binding(operation, body) or binding
            return self._get_reader(shown).parse(body)
        except ValueError as error:
            if _is_error(body):
                raise self.to_error(operation, HTTPStatus.OK, body) from error
            raise _build_invalid_response(operation, error, body) from error

    def to_error(self, operation: Operation, status: int, body: bytes) -> Exception:
        """Read an error."""
        return error_from_http(self.interface.dialect.name, operation, status, body)

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the path, in another form of the dialect if it has the operation only there."""
        return next((found for addresses in self._path_builders.values() if (found := addresses.find_binding(operation))), None)

    def _detect_binding(self, operation: Operation, body: bytes) -> AnyBinding | None:
        """Choose the form that an answer shows: what names its kind, is a bare list or is a card is of the documented one."""
        if len(self._path_builders) == 1:
            return None
        said: object = from_json(body)
        documented = operation is GET_EXTENDED_AGENT_CARD or is_json_array(said) or (is_json_object(said) and _has_kind(said))
        for name, addresses in self._path_builders.items():
            if (DIALECTS[name].form_of is None) == documented:
                return addresses.find_binding(operation)
        return None


def build_protocol(interface: Interface) -> ClientProtocol:
    """Make what speaks at an interface."""
    return JsonRpcProtocol(interface) if interface.transport == JSONRPC else RestProtocol(interface)


def _has_kind(value: Mapping[str, object]) -> bool:
    return _KIND_MEMBER in value or any(is_json_object(each) and _KIND_MEMBER in each for each in value.values())


def _is_error(body: bytes) -> bool:
    try:
        said: object = from_json(body)
    except ValueError:
        return False
    return is_json_object(said) and ("error" in said or ("message" in said and "code" in said))


def describe_error(error: ValueError) -> str:
    """Say in a line why something cannot be read, and where."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{place}: {text}" if place else text for place, text in field_paths(error)[:_MAX_FIELDS])


def _build_invalid_response(operation: Operation, error: ValueError, body: bytes) -> InvalidResponseError:
    return InvalidResponseError(
        f"The answer to {operation.name} cannot be read ({describe_error(error)})", body[:_EXCERPT_BYTES].decode("utf-8", "replace")
    )
