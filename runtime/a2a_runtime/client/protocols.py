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
from a2a_contract.field_paths import places
from a2a_contract.http import Addresses
from a2a_contract.json_types import is_list, is_object
from a2a_contract.jsonrpc import AnswerReader, Refusal, call_body
from a2a_contract.methods import METHODS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.paths import PATHS
from a2a_contract.v0_3 import TransportProtocol
from a2a_contract.v1_0 import AgentCard, AgentInterface
from a2a_runtime.client.errors import NoInterfaceError, UnreadableAnswerError, error_of, error_of_http
from a2a_runtime.client.options import HTTP_JSON, JSONRPC, Pin

# Where and how to talk to an agent: a pure choice among the interfaces of its card.
#
# The newest version that both speak comes first; within a version the agent's own order counts, as its card lists its interfaces. 0.3 over HTTP+JSON
# has two forms, of which the official SDK, and so almost everybody, speaks the one in ProtoJSON. A pin takes away whatever it does not name.
#

_RANK = {name: rank for rank, name in enumerate(DIALECTS)}
_SAFE, _UNSAFE = "https", "http"


@dataclass(frozen=True, slots=True)
class Interface:
    """An address at which a dialect is spoken over a transport."""

    url: str
    dialect: Dialect
    transport: TransportProtocol
    tenant: str | None = None


def pinned(url: str, pin: Pin) -> Interface:
    """Make the interface of somebody who knows it."""
    dialect = DIALECTS[pin.dialect] if pin.dialect else CANONICAL
    transport = pin.transport or (JSONRPC if dialect.jsonrpc else HTTP_JSON)
    if not _carries(dialect, transport):
        raise NoInterfaceError(f"{dialect.title} is not spoken over {transport.value}; pin another dialect or transport")
    return Interface(url, dialect, transport)


def choose(card: AgentCard, card_dialect: Dialect, card_url: str, pin: Pin) -> Interface:
    """Choose an interface of a card, which was found in a dialect at a URL."""
    found = [interface for listed in card.supported_interfaces for interface in _usable(listed, card_dialect, card_url)]
    wanted = [each for each in found if pin.dialect in (None, each.dialect.name) and pin.transport in (None, each.transport)]
    if not wanted:
        raise NoInterfaceError(_nothing(card, pin))
    return min(wanted, key=lambda each: _RANK[_root(each.dialect).name])


def _usable(listed: AgentInterface, card_dialect: Dialect, card_url: str) -> Iterator[Interface]:
    """List the ways to use an interface; one that leads from a safe address to an unsafe one has none."""
    url = urljoin(card_url, listed.url)
    scheme = urlsplit(url).scheme
    if scheme not in (_SAFE, _UNSAFE) or (scheme == _UNSAFE and urlsplit(card_url).scheme == _SAFE):
        return
    spoken = [each for each in DIALECTS.values() if each.version and each.version == _minor(listed.protocol_version)]
    for dialect in sorted(spoken, key=lambda each: each.form_of is None) or ([card_dialect] if card_dialect is not CANONICAL else []):
        transport = TransportProtocol(listed.protocol_binding.upper())
        if _carries(dialect, transport):
            yield Interface(url, dialect, transport, listed.tenant or None)


def _carries(dialect: Dialect, transport: TransportProtocol) -> bool:
    if transport == JSONRPC:
        return dialect.jsonrpc
    return transport == HTTP_JSON and _root(dialect).name in PATHS


def _root(dialect: Dialect) -> Dialect:
    return DIALECTS[dialect.form_of] if dialect.form_of else dialect


def _minor(version: str) -> str:
    return ".".join(version.strip().split(".")[:2])


def _nothing(card: AgentCard, pin: Pin) -> str:
    listed = ", ".join(f"{each.protocol_version or '?'} over {each.protocol_binding} at {each.url}" for each in card.supported_interfaces)
    limits = ", ".join(filter(None, (pin.dialect, pin.transport and pin.transport.value)))
    return f"The agent offers {listed or 'no interface'}" + (
        f", and the client is pinned to {limits}" if limits else ", none of which this client speaks"
    )


_EXCERPT = 200
_PLACES = 3
_KIND = "kind"


@dataclass(frozen=True, slots=True)
class Question:
    """A request as HTTP carries it."""

    method: str
    url: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    media_type: str = ""
    is_ours: bool = True
    """Whether it goes to the agent, or to where its card leads; only the agent is shown who we are."""


class Voice(ABC):
    """Asks and hears in one dialect at one address."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self._readers: dict[tuple[str, str], AnswerReader[WireModel]] = {}

    @abstractmethod
    def ask(self, operation: Operation, request: WireModel) -> Question:
        """Say a canonical request in the dialect."""

    @abstractmethod
    def hear(self, operation: Operation, body: bytes) -> WireModel | None:
        """Read an answer, or raise what it refuses."""

    def content(self, body: bytes) -> bytes:
        """Give what an answer holds, without what the transport puts around it."""
        return body

    @abstractmethod
    def refusal(self, operation: Operation, status: int, body: bytes) -> Exception:
        """Make the error of an answer whose status is not a good one."""

    @abstractmethod
    def binding(self, operation: Operation) -> AnyBinding | None:
        """Find how the dialect asks for an operation, if it does."""

    def _bound(self, operation: Operation) -> AnyBinding:
        binding = self.binding(operation)
        if binding is None:
            spoken = f"{self.interface.dialect.title} over {self.interface.transport.value}"
            raise UnsupportedOperationError(f"{spoken} has no {operation.name}", details={"operation": operation.name})
        return binding

    def _reader(self, binding: AnyBinding) -> AnswerReader[WireModel]:
        key = (binding.dialect, binding.operation.name)
        if key not in self._readers:
            self._readers[key] = AnswerReader(binding.hear)
        return self._readers[key]


class JsonRpcVoice(Voice):
    """Calls methods at one address."""

    def ask(self, operation: Operation, request: WireModel) -> Question:
        """Put a request into an envelope."""
        binding = self._bound(operation)
        method = operation.calls[binding.dialect].method or ""
        body = call_body(method, str(uuid4()), binding.ask(request))
        return Question("POST", self.interface.url, body=body, media_type=self.interface.dialect.media_types[0])

    def hear(self, operation: Operation, body: bytes) -> WireModel | None:
        """Take an answer out of its envelope."""
        try:
            heard = self._reader(self._bound(operation)).read_envelope(body)
        except ValueError as error:
            raise _unreadable(operation, error, body) from error
        if isinstance(heard, Refusal):
            raise error_of(self.interface.dialect.name, heard)
        return heard

    def content(self, body: bytes) -> bytes:
        """Take the result out of its envelope."""
        envelope: object = from_json(body)
        return to_json(envelope.get("result")) if is_object(envelope) else body

    def refusal(self, operation: Operation, status: int, body: bytes) -> Exception:
        """Look for an envelope first; what answers without one is seldom the agent."""
        try:
            heard = AnswerReader[WireModel](None).read_envelope(body)
        except ValueError:
            heard = None
        if isinstance(heard, Refusal):
            return error_of(self.interface.dialect.name, heard, status)
        return error_of_http(self.interface.dialect.name, operation, status, body)

    def binding(self, operation: Operation) -> AnyBinding | None:
        """Find the method."""
        dialect = self.interface.dialect.name
        call = operation.calls.get(dialect)
        return METHODS[dialect].get(call.method) if call and call.method else None


class HttpVoice(Voice):
    """Asks at many paths; an answer in another form of the same version is understood too."""

    def __init__(self, interface: Interface) -> None:
        super().__init__(interface)
        family = interface.dialect.form_of or interface.dialect.name
        forms = [each for each in DIALECTS.values() if family in (each.name, each.form_of)]
        forms.sort(key=lambda each: each is not interface.dialect)
        self._forms: Mapping[str, Addresses] = {each.name: Addresses(each.name, PATHS[family]) for each in forms}

    def ask(self, operation: Operation, request: WireModel) -> Question:
        """Find the path of a request, and what goes into its query and body."""
        binding = self._bound(operation)
        method, path, query, body = self._forms[binding.dialect].address(operation, binding.ask(request))
        media_type = self.interface.dialect.media_types[0] if body is not None else ""
        return Question(method, self.interface.url.rstrip("/") + path, query, body, media_type)

    def hear(self, operation: Operation, body: bytes) -> WireModel | None:
        """Read an answer in the form that it shows."""
        binding = self._bound(operation)
        if binding.hear is None:
            return None
        try:
            shown = self._shown(operation, body) or binding
            return self._reader(shown).read(body)
        except ValueError as error:
            if _is_error(body):
                raise self.refusal(operation, HTTPStatus.OK, body) from error
            raise _unreadable(operation, error, body) from error

    def refusal(self, operation: Operation, status: int, body: bytes) -> Exception:
        """Read an error."""
        return error_of_http(self.interface.dialect.name, operation, status, body)

    def binding(self, operation: Operation) -> AnyBinding | None:
        """Find the path, in another form of the dialect if it has the operation only there."""
        return next((found for addresses in self._forms.values() if (found := addresses.binding(operation))), None)

    def _shown(self, operation: Operation, body: bytes) -> AnyBinding | None:
        """Choose the form that an answer shows: what names its kind, is a bare list or is a card is of the documented one."""
        if len(self._forms) == 1:
            return None
        said: object = from_json(body)
        documented = operation is GET_EXTENDED_AGENT_CARD or is_list(said) or (is_object(said) and _names_its_kind(said))
        for name, addresses in self._forms.items():
            if (DIALECTS[name].form_of is None) == documented:
                return addresses.binding(operation)
        return None


def voice_at(interface: Interface) -> Voice:
    """Make what speaks at an interface."""
    return JsonRpcVoice(interface) if interface.transport == JSONRPC else HttpVoice(interface)


def _names_its_kind(said: Mapping[str, object]) -> bool:
    return _KIND in said or any(is_object(each) and _KIND in each for each in said.values())


def _is_error(body: bytes) -> bool:
    try:
        said: object = from_json(body)
    except ValueError:
        return False
    return is_object(said) and ("error" in said or ("message" in said and "code" in said))


def what_is_wrong(error: ValueError) -> str:
    """Say in a line why something cannot be read, and where."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{place}: {text}" if place else text for place, text in places(error)[:_PLACES])


def _unreadable(operation: Operation, error: ValueError, body: bytes) -> UnreadableAnswerError:
    return UnreadableAnswerError(
        f"The answer to {operation.name} cannot be read ({what_is_wrong(error)})", body[:_EXCERPT].decode("utf-8", "replace")
    )
