"""The port of a source of skills: descriptors, a way to call one, and the announcement of a
change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_contract.base import JsonObject
from a2a_contract.v1_0 import Part
from a2a_runtime.base.caller import Caller

if TYPE_CHECKING:
    from a2a_runtime.skills.context import SkillContext


@dataclass(frozen=True, slots=True)
class SkillDescriptor:
    """Description of a skill by its source."""

    id: str
    description: str = ""
    name: str = ""
    """Name for people; empty: the id."""
    tags: Sequence[str] = ()
    examples: Sequence[str] = ()
    input_schema: JsonObject | None = None
    """JSON Schema of the input; ``None``: plain text."""
    output_schema: JsonObject | None = None
    """JSON Schema of the output at once; ``None``: unchecked, as chunks are."""
    input_modes: Sequence[str] = ()
    output_modes: Sequence[str] = ()
    parse: Callable[[Sequence[Part]], object] | None = None
    """Reads the input from the parts of a message, or raises an error of the protocol; then the
    source validates it in ``check``, whatever the media types of the parts. ``None``: the input is
    the first part with JSON, and has to match the schema.
    """
    reads_message: bool = False
    """The call reads all parts of ``context.message``; its value is the text of the message.

    Only without an input schema.
    """
    is_read_only: bool = False
    is_idempotent: bool = False
    streams: bool = False
    asks: bool = False
    """True if a call may ask its caller a question."""
    is_protected: bool = False
    """True for a skill that only authenticated callers see."""
    timeout: float | None = 300.0
    """Limit of a call in seconds."""
    annotations: Mapping[str, object] = field(default_factory=dict[str, object])
    """Other properties, published on the card."""

    @property
    def is_restartable(self) -> bool:
        """True if a repeated call does no harm."""
        return self.is_read_only or self.is_idempotent


class SkillSource(ABC):
    """A source of skills. One source may serve several agents; it is opened once in a process."""

    async def open(self, announce: Callable[[], None]) -> None:  # noqa: B027 - optional
        """Connect. Call ``announce``, from any thread, whenever the list of skills has changed.

        ``SkillSourceError`` if the source cannot be used: the app does not start.
        """

    async def close(self) -> None:  # noqa: B027 - as above
        """Disconnect; calls that still run have been stopped."""

    @abstractmethod
    async def describe(self) -> Sequence[SkillDescriptor]:
        """Describe the present skills."""

    def summarize(self, skills: int) -> str:
        """Describe an agent that has no description of its own, by the number of its skills."""
        del skills
        return ""

    async def check(  # noqa: B027 - the schema may be all
        self, skill: SkillDescriptor, value: object, caller: Caller
    ) -> None:
        """Raise an error of the protocol for a call that must not become a task, such as a denied
        one.
        """

    @abstractmethod
    async def call(self, skill: SkillDescriptor, value: object, context: SkillContext) -> object:
        """Call a skill and return its output: a value of its schema, or an ``Artifact``, ``Part``
        or ``Message``. Cancellation stops the call.
        """

    async def stream(
        self, skill: SkillDescriptor, value: object, context: SkillContext
    ) -> AsyncGenerator[object, None]:
        """Call a skill that streams, and yield its chunks."""
        yield await self.call(skill, value, context)
