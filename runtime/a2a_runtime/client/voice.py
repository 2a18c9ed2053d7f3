"""How an operation is asked and its answer heard at one interface: in a JSON-RPC envelope, or with a verb and a path.

Everything that differs between dialects stands in their bindings; what is left is the envelope, the address and the shape of errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from uuid import uuid4

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from a2a_contract.addressing import Addresses
from a2a_contract.answers import AnswerReader, Refusal, call_body
from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.kinds import is_list, is_object
from a2a_contract.methods import METHODS
from a2a_contract.operation import Operation
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.paths import PATHS
from a2a_contract.places import places
from a2a_runtime.client.errors import UnreadableAnswerError
from a2a_runtime.client.interface import Interface
from a2a_runtime.client.options import JSONRPC
from a2a_runtime.client.refusals import error_of, error_of_http

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
