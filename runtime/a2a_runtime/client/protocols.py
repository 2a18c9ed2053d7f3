"""Protocol of an interface: JSON-RPC, REST or gRPC encoding of operations.

Differences between dialects are data of their bindings. This module adds the envelope, the URL and
the shape of errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from uuid import uuid4

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding, Operation
from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.field_paths import field_paths
from a2a_contract.http import PathBuilder, RequestTarget
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.jsonrpc import ErrorObject, JsonRpcResponseParser, serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.paths import PATHS
from a2a_contract.protobuf_values import Method
from a2a_runtime.client.errors import InvalidResponseError, error_from_http, error_from_jsonrpc
from a2a_runtime.client.interface import Interface, find_base_below_prefix
from a2a_runtime.client.options import GRPC, JSONRPC
from a2a_runtime.features.double_base64.codec import decode_once, encode_twice, has_double_base64

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
    """Whether the target may receive credentials: the agent may, another origin in a redirect may
    not.
    """
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

    def encode_differently(
        self, operation: Operation, request: WireModel
    ) -> OutgoingRequest | None:
        """Encode a request in the other form that some servers want; ``None`` if there is none."""
        # encodings that have such a form override this
        del operation, request
        return None

    @abstractmethod
    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a response into the canonical model, or raise the error in it."""

    def extract_result(self, body: bytes) -> bytes:
        """Strip the envelope of a response."""
        return body

    @abstractmethod
    def to_error(
        self, operation: Operation, status: int, body: bytes, *, has_task: bool = True
    ) -> Exception:
        """Build the exception of an error response, to a request that is about a task or not."""

    @abstractmethod
    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of an operation in the dialect."""

    def _require_binding(self, operation: Operation) -> AnyBinding:
        binding = self.find_binding(operation)
        if binding is None:
            text = (
                f"{operation.name}: not available in {self.interface.dialect.title} over "
                f"{self.interface.transport.value}"
            )
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
        return OutgoingRequest(
            "POST", self.interface.url, body=body, media_type=self.interface.dialect.media_types[0]
        )

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
        if is_json_object(envelope):
            return to_json(envelope.get("result"))
        return body

    def to_error(
        self, operation: Operation, status: int, body: bytes, *, has_task: bool = True
    ) -> Exception:
        """Build the exception of an error object in an envelope, else of the plain HTTP
        response.
        """
        try:
            result = JsonRpcResponseParser[WireModel](None).parse_envelope(body)
        except ValueError:
            result = None
        if isinstance(result, ErrorObject):
            return error_from_jsonrpc(self.interface.dialect.name, result, status)
        return error_from_http(
            self.interface.dialect.name, operation, status, body, has_task=has_task
        )

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of the method."""
        dialect = self.interface.dialect.name
        call = operation.calls.get(dialect)
        if call and call.method:
            return METHODS[dialect].get(call.method)
        return None


class RestProtocol(ClientProtocol):
    """HTTP+JSON: a path per operation; responses in another form of the same version are
    accepted.
    """

    def __init__(self, interface: Interface) -> None:
        super().__init__(interface)
        dialect = interface.dialect
        family = dialect.form_of or dialect.name
        forms = [each for each in DIALECTS.values() if family in (each.name, each.form_of)]
        forms.sort(key=lambda each: each is not interface.dialect)
        self._is_in_doubt = (
            find_base_below_prefix(interface.url, dialect, interface.transport) is not None
        )
        self._path_builders: Mapping[str, PathBuilder] = {
            each.name: PathBuilder(each.name, PATHS[dialect.home]) for each in forms
        }

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a request as path, query and body."""
        binding = self._require_binding(operation)
        return self._address(
            self._path_builders[binding.dialect].build(operation, binding.encode_request(request))
        )

    def encode_differently(
        self, operation: Operation, request: WireModel
    ) -> OutgoingRequest | None:
        """Encode a request whose body is one of its members, as servers with transcoding of gRPC
        want it.
        """
        binding = self._require_binding(operation)
        target = self._path_builders[binding.dialect].build_member(
            operation, binding.encode_request(request)
        )
        if target is None:
            return None
        return self._address(target)

    def _address(self, target: RequestTarget) -> OutgoingRequest:
        method, path, query, body = target
        media_type = self.interface.dialect.media_types[0] if body is not None else ""
        return OutgoingRequest(
            method, self.interface.url.rstrip("/") + path, query, body, media_type
        )

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

    def to_error(
        self, operation: Operation, status: int, body: bytes, *, has_task: bool = True
    ) -> Exception:
        """Build the exception of a plain HTTP response; where the URL is in doubt, a bare 404 is
        about the path and not about a task.
        """
        return error_from_http(
            self.interface.dialect.name,
            operation,
            status,
            body,
            has_task=has_task and not self._is_in_doubt,
        )

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of the path, in another form of the dialect if only that has the
        operation.
        """
        for builder in self._path_builders.values():
            if found := builder.find_binding(operation):
                return found
        return None

    def _detect_binding(self, operation: Operation, body: bytes) -> AnyBinding | None:
        """Detect the form of a response: one with a ``kind``, a bare list or a card is of the
        documented form.
        """
        if len(self._path_builders) == 1:
            return None
        document: object = from_json(body)
        is_documented = (
            operation is GET_EXTENDED_AGENT_CARD
            or is_json_array(document)
            or (is_json_object(document) and _has_kind(document))
        )
        name = next(
            name
            for name in self._path_builders
            if (DIALECTS[name].form_of is None) == is_documented
        )
        return self._path_builders[name].find_binding(operation)


class GrpcProtocol(ClientProtocol):
    """gRPC: a path for each method; ``client.grpc`` turns the JSON of the dialect into messages."""

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a request in the JSON of the dialect."""
        binding = self._require_binding(operation)
        dialect = self.interface.dialect
        path = next(path for path, each in self._methods().items() if each.binding is binding)
        return OutgoingRequest(
            "POST",
            self.interface.url + path,
            body=to_json(binding.encode_request(request)),
            media_type=dialect.media_types[0],
        )

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a result."""
        binding = self._require_binding(operation)
        if binding.response is None:
            return None
        try:
            return self._get_reader(binding).parse(body)
        except ValueError as error:
            raise _build_invalid_response(operation, error, body) from error

    def to_error(
        self, operation: Operation, status: int, body: bytes, *, has_task: bool = True
    ) -> Exception:
        """Build the exception of a status."""
        return error_from_http(
            self.interface.dialect.name, operation, status, body, has_task=has_task
        )

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of the method."""
        methods = (
            each.binding for each in self._methods().values() if each.binding.operation is operation
        )
        return next((each for each in methods if each.dialect == self.interface.dialect.name), None)

    def _methods(self) -> Mapping[str, Method]:
        from a2a_contract import protobuf  # noqa: PLC0415 - many modules, for this binding only

        dialect = self.interface.dialect
        if dialect.extends is None:
            return protobuf.METHODS
        return protobuf.EXTENDED_METHODS[dialect.version or ""]


class DoubleBase64Protocol(ClientProtocol):
    """Another protocol, with agents that encode the bytes of files twice."""

    def __init__(self, inner: ClientProtocol) -> None:
        super().__init__(inner.interface)
        self._inner = inner

    def encode(self, operation: Operation, request: WireModel) -> OutgoingRequest:
        """Encode a request, and its files twice."""
        return _encode_files_twice(self._inner.encode(operation, request))

    def encode_differently(
        self, operation: Operation, request: WireModel
    ) -> OutgoingRequest | None:
        """Encode a request in the other form, and its files twice."""
        other = self._inner.encode_differently(operation, request)
        if other is None:
            return None
        return _encode_files_twice(other)

    def decode(self, operation: Operation, body: bytes) -> WireModel | None:
        """Decode a response whose files are encoded twice."""
        return self._inner.decode(operation, decode_once(body))

    def extract_result(self, body: bytes) -> bytes:
        """Strip the envelope of a response."""
        return self._inner.extract_result(body)

    def to_error(
        self, operation: Operation, status: int, body: bytes, *, has_task: bool = True
    ) -> Exception:
        """Build the exception of an error response."""
        return self._inner.to_error(operation, status, body, has_task=has_task)

    def find_binding(self, operation: Operation) -> AnyBinding | None:
        """Find the binding of an operation."""
        return self._inner.find_binding(operation)


def _encode_files_twice(request: OutgoingRequest) -> OutgoingRequest:
    if request.body is None:
        return request
    return replace(request, body=encode_twice(request.body))


def build_protocol(interface: Interface, *, double_base64: bool = False) -> ClientProtocol:
    """Build the protocol of an interface."""
    if interface.transport == GRPC:
        protocol: ClientProtocol = GrpcProtocol(interface)
    elif interface.transport == JSONRPC:
        protocol = JsonRpcProtocol(interface)
    else:
        protocol = RestProtocol(interface)
    is_doubled = double_base64 and has_double_base64(interface.dialect.name)
    if is_doubled:
        return DoubleBase64Protocol(protocol)
    return protocol


def _has_kind(value: Mapping[str, object]) -> bool:
    return _KIND_MEMBER in value or any(
        is_json_object(each) and _KIND_MEMBER in each for each in value.values()
    )


def _is_error(body: bytes) -> bool:
    try:
        document: object = from_json(body)
    except ValueError:
        return False
    return is_json_object(document) and (
        "error" in document or ("message" in document and "code" in document)
    )


def describe_error(error: ValueError) -> str:
    """Describe in one line why a document is invalid, with field paths."""
    if not isinstance(error, ValidationError):
        return str(error)
    problems: list[str] = []
    for path, text in field_paths(error)[:_MAX_FIELDS]:
        problems.append(f"{path}: {text}" if path else text)
    return "; ".join(problems)


def _build_invalid_response(
    operation: Operation, error: ValueError, body: bytes
) -> InvalidResponseError:
    return InvalidResponseError(
        f"Response to {operation.name}: invalid ({describe_error(error)})",
        body[:_EXCERPT_BYTES].decode("utf-8", "replace"),
    )
