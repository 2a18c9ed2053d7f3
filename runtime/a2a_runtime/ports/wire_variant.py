"""Variants of the wire: forms that a surface reads and writes beside those of its dialects.

    JSON-RPC    call ── read_call ──► call of the dialect ──► result ── CallForm.bind ──► result
    HTTP+JSON   body ── read_body ──► body of the dialect ──► result ── bind ──► result
    gRPC        message ──► JSON ── read_body ──► JSON of the dialect ──► result ── bind ──► message

A surface has a tuple of variants, which is empty for most; each place asks that tuple, so that a
request without variants enters no function for them. A variant overrides what it changes. What a
call says beyond its dialect is a ``CallForm``, which the services of the variant find in its
context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from a2a_contract.binding import AnyBinding
    from a2a_contract.controllers import AgentController
    from a2a_contract.errors import A2AError
    from a2a_contract.service import AgentService
    from a2a_runtime.http.asgi import HttpRequest
    from a2a_runtime.http.dispatcher import Dispatcher
    from a2a_runtime.service.context import CallContext, ProtocolBinding, ServiceDependencies
    from a2a_runtime.surface import Surface

VariantKey: TypeAlias = Literal["double_base64", "srs_forms", "1.0.1"]
"""Keys of the variants that this distribution has (``ports.registry.VARIANTS``)."""


class CallForm(Protocol):
    """A call in the form of a variant."""

    def bind(self, binding: AnyBinding) -> AnyBinding:
        """Return a binding that writes results in this form."""
        ...


class ReadCall(NamedTuple):
    """A call of the dialect, and what it says beyond it; no form if nothing was changed."""

    body: bytes
    form: CallForm | None = None
    errors: tuple[tuple[str, str], ...] = ()
    """Field errors, for members that contradict each other."""


class WireVariant:
    """A form on the wire. Every method leaves everything as it is."""

    key: ClassVar[str] = ""
    """Name in ``Surface(variants=…)``, and key of a project file."""
    media_type: ClassVar[str | None] = None
    """Media type of canonical responses over HTTP+JSON to clients that name none."""

    def check(self, surface: Surface) -> None:
        """Raise ``ValueError`` for a surface that cannot have this variant."""

    def read_call(self, call: ReadCall) -> ReadCall:
        """Read the body of a JSON-RPC call."""
        return call

    async def read_refused(
        self,
        dispatcher: Dispatcher,  # noqa: ARG002 - for variants
        request: HttpRequest,  # noqa: ARG002 - as above
    ) -> bytes | None:
        """Read a JSON-RPC call that the gate has refused; ``None`` unless this variant admits it in
        spite of that.
        """
        return None

    def read_body(self, body: bytes, protocol: ProtocolBinding) -> bytes:  # noqa: ARG002 - for variants
        """Read the body of an HTTP+JSON request, or a message over gRPC as the JSON of its
        dialect.
        """
        return body

    def bind(self, binding: AnyBinding, protocol: ProtocolBinding) -> AnyBinding:  # noqa: ARG002 - for variants
        """Return a binding that writes results in this form: over HTTP+JSON, or as the JSON of
        which a message over gRPC is made.
        """
        return binding

    def build_services(
        self,
        dependencies: ServiceDependencies,  # noqa: ARG002 - for variants
    ) -> Mapping[str, AgentService[CallContext]]:
        """Build services that answer otherwise, by dialect."""
        return {}

    def list_controllers(self) -> Sequence[type[AgentController]]:
        """List the controllers of further paths below the surface."""
        return ()

    def list_methods(self, path: str) -> tuple[str, ...]:  # noqa: ARG002 - for variants
        """List the methods of one of these paths; empty for any other."""
        return ()

    def select_status(self, error: A2AError, status: str) -> str:  # noqa: ARG002 - for variants
        """Select the gRPC status of an error, which HTTP+JSON spells too."""
        return status

    def write_card(self, card: dict[str, object], surface: Surface, dialect: str) -> None:
        """Write what the card of a dialect says of this variant into it."""

    def explain_member(self, binding: AnyBinding, name: str, *, is_call: bool) -> str:  # noqa: ARG002 - for variants
        """Return what an operator can do to have an unknown member read, if this variant reads
        it; asked for the members that its row names.
        """
        return ""
