"""What a request says beside its message: a handler may want to know, also when it runs again in another process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from a2a_contract.base import JsonObject
from a2a_runtime.stores.port import Record, RecordKind


@dataclass(frozen=True, slots=True)
class Request:
    """The request that began the work, without the message and without what the runtime sees to itself."""

    metadata: JsonObject = field(default_factory=dict[str, object])
    """The metadata of the request; that of the message is the message's."""
    accepted_output_modes: Sequence[str] = ()
    """The media types that the caller can take; none means all."""
    extensions: Sequence[str] = ()
    """The extensions that the caller has asked for and the agent has: those that are in effect."""

    @property
    def record(self) -> Record | None:
        """Write it down for every run of the task; nothing where there is nothing to say."""
        return Record(RecordKind.REQUEST, "", _JSON.dump_json(self)) if self.metadata or self.accepted_output_modes or self.extensions else None

    @classmethod
    def of(cls, records: Sequence[Record]) -> Request:
        """Find it among the records of a task."""
        body = next((record.body for record in records if record.kind is RecordKind.REQUEST), None)
        return PLAIN if body is None else _JSON.validate_json(body)


_JSON = TypeAdapter(Request)
PLAIN = Request()
