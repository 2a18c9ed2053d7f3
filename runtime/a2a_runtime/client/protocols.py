"""Choice of an interface from a card, and its protocol: JSON-RPC, REST or gRPC encoding of operations.

The first interface of the card that the client supports wins; the others are tried in their order if nothing answers there. 0.3 over HTTP+JSON
has two forms, of which the official SDK and most agents use ProtoJSON. A pin excludes everything it does not name.

Differences between dialects are data of their bindings. This module adds the envelope, the URL and the shape of errors.
"""

from __future__ import annotations

import re
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
from a2a_contract.dialects import CANONICAL, DIALECTS, V0_3_PROTO, Dialect
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.field_paths import field_paths
from a2a_contract.http import PathBuilder, RequestTarget
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.jsonrpc import ErrorObject, JsonRpcResponseParser, serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, SEND_MESSAGE
from a2a_contract.paths import PATHS
from a2a_contract.protobuf_values import Method
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCard, AgentInterface
from a2a_runtime.client.errors import InvalidResponseError, NoInterfaceError, error_from_http, error_from_jsonrpc
from a2a_runtime.client.grpc import PLAIN, TLS
from a2a_runtime.client.options import GRPC, HTTP_JSON, JSONRPC, Pin
from a2a_runtime.double_base64 import decode_once, encode_twice
from a2a_runtime.interfaces import MISSING_EXTRA, is_grpc_installed

_HTTPS, _HTTP = "https", "http"
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?")
_PORT = re.compile(r":[0-9]+$")


@dataclass(frozen=True, slots=True)
class Interface:
    """A URL with its dialect and transport."""

    url: str
    dialect: Dialect
    transport: TransportProtocol
    tenant: str | None = None


def interface_from_pin(url: str, pin: Pin) -> Interface:
    """Build the interface at a known URL."""
    dialect = DIALECTS.get(pin.dialect) or _find_by_version(pin) if pin.dialect else CANONICAL
    transport = pin.transport or (GRPC if urlsplit(url).scheme in (PLAIN, TLS) else JSONRPC if dialect.jsonrpc else HTTP_JSON)
    if transport == GRPC:
        if not is_grpc_installed():
            raise NoInterfaceError(f"{url}: {MISSING_EXTRA}")
        url = _to_grpc_url(url, "") or url
    if not _is_supported(dialect, transport):
        raise NoInterfaceError(f"{dialect.title}: not available over {transport.value}; pin another dialect or transport")
    return Interface(url, dialect, transport)


def _find_by_version(pin: Pin) -> Dialect:
    """Find the dialect of a version, over HTTP+JSON in its likeliest form; raise for an unknown one."""
    found = [each for each in DIALECTS.values() if pin.dialect in (each.version, each.spelling)]
    if not found:
        known = ", ".join(dict.fromkeys(each.spelling for each in DIALECTS.values()))
        raise NoInterfaceError(f"Pin: unknown dialect {pin.dialect!r}; use one of {known}")
    return found[-1] if pin.transport == HTTP_JSON else found[0]


def choose_interfaces(card: AgentCard, card_dialect: Dialect, card_url: str, pin: Pin) -> tuple[Interface, ...]:
    """Choose the interfaces of a card that may be used, in the order of the card; each URL and transport once, in the likeliest form."""
    usable = [interface for listed in card.supported_interfaces for interface in list_usable(listed, card_dialect, card_url)]
    candidates = [each for each in usable if _is_pinned(each.dialect, pin) and pin.transport in (None, each.transport)]
    if not candidates:
        raise NoInterfaceError(_describe_mismatch(card, pin))
    distinct: dict[tuple[str, str, str | None], Interface] = {}
    for each in candidates:
        distinct.setdefault((each.url, each.transport.value, each.dialect.version), each)
    return tuple(distinct.values())


def _is_pinned(dialect: Dialect, pin: Pin) -> bool:
    return pin.dialect in (None, dialect.name, dialect.version, dialect.spelling)


def list_usable(listed: AgentInterface, card_dialect: Dialect, card_url: str) -> Iterator[Interface]:
    """List the ways to use an interface; none if it leads from https to http."""
    binding = listed.protocol_binding.upper()
    url = _to_grpc_url(listed.url, card_url) if binding == GRPC else _join_url(card_url, listed.url)
    scheme = urlsplit(url).scheme
    if scheme not in (_HTTPS, _HTTP, TLS, PLAIN) or (scheme in (_HTTP, PLAIN) and urlsplit(card_url).scheme == _HTTPS):
        return
    version = ".".join(listed.protocol_version.strip().split(".")[:2])
    dialects = [each for each in DIALECTS.values() if each.version and each.version == version]
    for dialect in sorted(dialects, key=lambda each: each.form_of is None) or ([card_dialect] if card_dialect is not CANONICAL else []):
        transport = TransportProtocol(binding)
        if _is_supported(dialect, transport):
            yield Interface(url, dialect, transport, listed.tenant or None)


def _join_url(card_url: str, address: str) -> str:
    """Resolve an address against the URL of the card; empty for what is no address."""
    try:
        return urljoin(card_url, address)
    except ValueError:
        return ""


def _to_grpc_url(address: str, card_url: str) -> str:
    """Build the URL of a gRPC address; without a scheme it uses TLS if the card does. Empty for what is no address of a host."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = urlsplit(card_url).scheme or _HTTP, address
    if scheme not in (_HTTPS, TLS, _HTTP, PLAIN) or not _HOST.fullmatch(rest):
        return ""
    is_tls = scheme in (_HTTPS, TLS)
    host = rest.rstrip("/")
    return f"{TLS if is_tls else PLAIN}://{host if _PORT.search(host) else f'{host}:{443 if is_tls else 80}'}"


def _is_supported(dialect: Dialect, transport: TransportProtocol) -> bool:
    if transport == GRPC:
        call = SEND_MESSAGE.calls.get(dialect.name)
        return call is not None and call.grpc is not None and is_grpc_installed()
    if transport == JSONRPC:
        return dialect.jsonrpc
    return transport == HTTP_JSON and _get_base_dialect(dialect).name in PATHS


def _get_base_dialect(dialect: Dialect) -> Dialect:
    return DIALECTS[dialect.home]


def _describe_mismatch(card: AgentCard, pin: Pin) -> str:
    listed = ", ".join(f"{each.protocol_version or '?'} over {each.protocol_binding} at {each.url}" for each in card.supported_interfaces)
    pinned = ", ".join(filter(None, (pin.dialect, pin.transport and pin.transport.value)))
    reason = f"the client is pinned to {pinned}" if pinned else "this client supports none of them"
    if any(each.protocol_binding.upper() == GRPC for each in card.supported_interfaces) and not is_grpc_installed():
        reason += f"; for {GRPC.value}, {MISSING_EXTRA}"
    return f"The agent offers {listed or 'no interface'}, and {reason}"


_EXCERPT_BYTES = 200
_MAX_FIELDS = 3
_KIND_MEMBER = "kind"


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """An encoded HTTP request."""

    method: str
    url: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    media_type: str = ""
    should_authenticate: bool = True
    """Whether the target may receive credentials: the agent may, another origin in a redirect may not."""
    follow_redirects: bool = False
    is_message: bool = False
    """Whether the agent answers when its task has ended, which may take any time."""


class ClientProtocol(ABC):
    """Encoding of requests and decoding of responses in one dialect at one interface."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self._readers: dict[tuple[str, str], JsonRpcResponseParser[WireModel]] = {}

    @abstractmethod
    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a canonical request in the dialect."""

    def encode_differently(self, operation: Operation, request: WireModel) -> OutgoingRequest | None:  # noqa: ARG002 - for those that have one
        """Encode a request in the other form that some servers want; ``None`` if there is none."""
        return None

    @abstractmethod
    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a response into the canonical model, or raise the error in it."""

    def extract_result(self, body: bytes) -> bytes:
        """Strip the envelope of a response."""
        return body

    @abstractmethod
    def to_error(self, operation: Operation, status: int, body: bytes, *, has_task: bool = True) -> Exception:
        """Build the exception of an error response, to a request that is about a task or not."""

    @abstractmethod
    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of an operation in the dialect."""

    def _require_binding(self, operation: Operation) -> AnyBinding:
        binding = self.find_binding(operation)
        if binding is None:
            text = f"{operation.name}: not available in {self.interface.dialect.title} over {self.interface.transport.value}"
            raise UnsupportedOperationError(text, details={"operation": operation.name})
        return binding

    def _get_reader(self, binding: AnyBinding) -> JsonRpcResponseParser[WireModel]:
        key = (binding.dialect, binding.operation.name)
        if key not in self._readers:
            self._readers[key] = JsonRpcResponseParser(binding.response)
        return self._readers[key]


class JsonRpcProtocol(ClientProtocol):
    """JSON-RPC: methods at one URL."""

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a request in an envelope."""
        binding = self._require_binding(operation)
        method = operation.calls[binding.dialect].method or ""
        body = serialize_call(method, str(uuid4()), binding.encode_request(request))
        return OutgoingRequest("POST", self.interface.url, body=body, media_type=self.interface.dialect.media_types[0])

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a response in an envelope."""
        try:
            result = self._get_reader(self._require_binding(operation)).parse_envelope(body)
        except ValueError as error:
            raise _build_invalid_response(operation, error, body) from error
        if isinstance(result, ErrorObject):
            raise error_from_jsonrpc(self.interface.dialect.name, result)
        return result

    def extract_result(self, body: bytes) -> bytes:
        """Return the result member of the envelope."""
        envelope: object = from_json(body)
        return to_json(envelope.get("result")) if is_json_object(envelope) else body

    def to_error(self, operation: Operation, status: int, body: bytes, *, has_task: bool = True) -> Exception:
        """Build the exception of an error object in an envelope, else of the plain HTTP response."""
        try:
            result = JsonRpcResponseParser[WireModel](None).parse_envelope(body)
        except ValueError:
            result = None
        if isinstance(result, ErrorObject):
            return error_from_jsonrpc(self.interface.dialect.name, result, status)
        return error_from_http(self.interface.dialect.name, operation, status, body, has_task=has_task)

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of the method."""
        dialect = self.interface.dialect.name
        call = operation.calls.get(dialect)
        return METHODS[dialect].get(call.method) if call and call.method else None


class RestProtocol(ClientProtocol):
    """HTTP+JSON: a path per operation; responses in another form of the same version are accepted."""

    def __init__(self, interface: Interface) -> None:
        super().__init__(interface)
        dialect = interface.dialect
        family = dialect.form_of or dialect.name
        forms = [each for each in DIALECTS.values() if family in (each.name, each.form_of)]
        forms.sort(key=lambda each: each is not interface.dialect)
        self._path_builders: Mapping[str, PathBuilder] = {each.name: PathBuilder(each.name, PATHS[dialect.home]) for each in forms}

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a request as path, query and body."""
        binding = self._require_binding(operation)
        return self._address(self._path_builders[binding.dialect].build(operation, binding.encode_request(request)))

    def encode_differently(self, operation: Operation, request: WireModel) -> OutgoingRequest | None:
        """Encode a request whose body is one of its members, as servers with transcoding of gRPC want it."""
        binding = self._require_binding(operation)
        target = self._path_builders[binding.dialect].build_member(operation, binding.encode_request(request))
        return None if target is None else self._address(target)

    def _address(self, target: RequestTarget) -> OutgoingRequest:
        method, path, query, body = target
        media_type = self.interface.dialect.media_types[0] if body is not None else ""
        return OutgoingRequest(method, self.interface.url.rstrip("/") + path, query, body, media_type)

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a response in the form that it has."""
        binding = self._require_binding(operation)
        if binding.response is None:
            return None
        try:
            return self._get_reader(self._detect_binding(operation, body) or binding).parse(body)
        except ValueError as error:
            if _is_error(body):
                raise self.to_error(operation, HTTPStatus.OK, body) from error
            raise _build_invalid_response(operation, error, body) from error

    def to_error(self, operation: Operation, status: int, body: bytes, *, has_task: bool = True) -> Exception:
        """Build the exception of a plain HTTP response."""
        return error_from_http(self.interface.dialect.name, operation, status, body, has_task=has_task)

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of the path, in another form of the dialect if only that has the operation."""
        return next((found for builder in self._path_builders.values() if (found := builder.find_binding(operation))), None)

    def _detect_binding(self, operation: Operation, body: bytes) -> AnyBinding | None:
        """Detect the form of a response: one with a ``kind``, a bare list or a card is of the documented form."""
        if len(self._path_builders) == 1:
            return None
        document: object = from_json(body)
        is_documented = operation is GET_EXTENDED_AGENT_CARD or is_json_array(document) or (is_json_object(document) and _has_kind(document))
        name = next(name for name in self._path_builders if (DIALECTS[name].form_of is None) == is_documented)
        return self._path_builders[name].find_binding(operation)


class DoubleBase64Protocol(RestProtocol):
    """HTTP+JSON with agents that encode the bytes of files twice."""

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a response whose files are encoded twice."""
        return super().decode(operation, decode_once(body))

    def _address(self, target: RequestTarget) -> OutgoingRequest:
        return super()._address(target if target.body is None else target._replace(body=encode_twice(target.body)))


class GrpcProtocol(ClientProtocol):
    """gRPC: a path for each method; ``client.grpc`` turns the JSON of the dialect into messages."""

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a request in the JSON of the dialect."""
        binding, dialect = self._require_binding(operation), self.interface.dialect
        path = next(path for path, each in self._methods().items() if each.binding is binding)
        return OutgoingRequest("POST", self.interface.url + path, body=to_json(binding.encode_request(request)), media_type=dialect.media_types[0])

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a result."""
        binding = self._require_binding(operation)
        if binding.response is None:
            return None
        try:
            return self._get_reader(binding).parse(body)
        except ValueError as error:
            raise _build_invalid_response(operation, error, body) from error

    def to_error(self, operation: Operation, status: int, body: bytes, *, has_task: bool = True) -> Exception:
        """Build the exception of a status."""
        return error_from_http(self.interface.dialect.name, operation, status, body, has_task=has_task)

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of the method."""
        methods = (each.binding for each in self._methods().values() if each.binding.operation is operation)
        return next((each for each in methods if each.dialect == self.interface.dialect.name), None)

    def _methods(self) -> Mapping[str, Method]:
        from a2a_contract import protobuf  # noqa: PLC0415 - many modules, for this binding only

        dialect = self.interface.dialect
        return protobuf.METHODS if dialect.extends is None else protobuf.EXTENDED_METHODS[dialect.version or ""]


def build_protocol(interface: Interface, *, double_base64: bool = False) -> ClientProtocol:
    """Build the protocol of an interface."""
    if interface.transport == GRPC:
        return GrpcProtocol(interface)
    if interface.transport == JSONRPC:
        return JsonRpcProtocol(interface)
    return DoubleBase64Protocol(interface) if double_base64 and interface.dialect is V0_3_PROTO else RestProtocol(interface)


def _has_kind(value: Mapping[str, object]) -> bool:
    return _KIND_MEMBER in value or any(is_json_object(each) and _KIND_MEMBER in each for each in value.values())


def _is_error(body: bytes) -> bool:
    try:
        document: object = from_json(body)
    except ValueError:
        return False
    return is_json_object(document) and ("error" in document or ("message" in document and "code" in document))


def describe_error(error: ValueError) -> str:
    """Describe in one line why a document is invalid, with field paths."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{path}: {text}" if path else text for path, text in field_paths(error)[:_MAX_FIELDS])


def _build_invalid_response(operation: Operation, error: ValueError, body: bytes) -> InvalidResponseError:
    return InvalidResponseError(f"Response to {operation.name}: invalid ({describe_error(error)})", body[:_EXCERPT_BYTES].decode("utf-8", "replace"))
