"""What a request passes before it costs anything, and again once it is known what it asks: rates, room, and a line in the audit log."""

from __future__ import annotations

from a2a_contract.errors import PermissionDeniedError, RateLimitedError, UnauthenticatedError, UnavailableError
from a2a_contract.operation import Operation
from a2a_contract.v1_0 import CancelTaskRequest
from a2a_runtime.auth.audit import record
from a2a_runtime.caller import Caller
from a2a_runtime.exchange.question import Question
from a2a_runtime.stores.port import Tally
from a2a_runtime.surface import Surface

_EVENTS = {UnauthenticatedError: "refused", PermissionDeniedError: "denied", RateLimitedError: "limited"}


class Turnstile:
    """The turnstile of a surface."""

    def __init__(self, surface: Surface) -> None:
        self._surface, self._rates, self._room = surface.room, surface.rates, surface.limits.concurrency
        self._inside = 0
        self.is_open = self._rates is None and self._room is None
        """Whether there is nothing to be counted here."""

    def count_in(self, store: Tally) -> None:
        """Count in a store from now on what is counted together with other processes."""
        if self._rates is not None:
            self._rates = self._rates.counted_in(store)

    def enter(self, question: Question, caller: Caller) -> None:
        """Let a request in whose body nobody has read yet, if there is room for it, and its sender may ask anything at all."""
        if self._rates is not None:
            self._rates.knock(self._surface, _who(question, caller))
        if self._room is not None:
            if self._inside >= self._room:
                raise UnavailableError
            self._inside += 1
            question.has_room = True

    def leave(self, question: Question) -> None:
        """Let go of the room that a request took up."""
        if question.has_room:
            question.has_room = False
            self._inside -= 1

    async def count(self, question: Question, operation: Operation, caller: Caller) -> None:
        """Count a request that was read, and refuse one that is too many of its kind."""
        if self._rates is not None:
            await self._rates.spend(self._surface, _who(question, caller), operation.name)


def _who(question: Question, caller: Caller) -> str:
    return f"{caller.tenant}\0{caller.owner}" if caller.owner else address_of(question)


def note_cancel(question: Question, caller: Caller, request: CancelTaskRequest) -> None:
    """Remember who has asked for an end of what."""
    record("cancel", **_where(question), caller=caller.owner, tenant=caller.tenant, task=request.id)


def note_refusal(question: Question, error: Exception) -> None:
    """Remember who was not let in, and why."""
    event = next((name for kind, name in _EVENTS.items() if isinstance(error, kind)), None)
    if event is not None:
        record(event, **_where(question), caller=question.caller, reason=str(error))


def address_of(question: Question) -> str:
    """Say where a request comes from, as the server tells it."""
    client = question.scope["client"]
    return client[0] if client else ""


def _where(question: Question) -> dict[str, str]:
    return {"client": address_of(question), "method": question.scope["method"], "path": question.scope["path"]}
