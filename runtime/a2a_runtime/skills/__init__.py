"""Typed skills: methods with typed input and output on top of the untyped handler of the engine.

    handlers ─── a typed method as a handler: parses the input, checks the output;
      │          checks replies to questions
      │
    context ──── the task as a typed method sees it; questions with typed replies
      │
    contract ─── a skill with its schemas: input, output, replies; their extension of the card
      │
    schema ───── a JSON Schema with its Python type; payloads of messages; field errors
      │
    model ────── base classes of generated models

**The schema validates, the model gives types.** A JSON Schema validator checks every value that
comes in or goes out (5 µs for 5 kB, a sixth of the time to build the model). Then it becomes a
model. So no rule of a schema is lost because Python cannot express it, and an agent accepts what
every validator accepts. Formats are checked.

This package does not know HTTP. ``schema``, ``model`` and ``contract`` do not know the engine
either, so that clients load only these.
"""

from typing import TYPE_CHECKING

from a2a_runtime.base.importing import lazy_names

if TYPE_CHECKING:
    from a2a_runtime.skills.context import Question, SkillContext
    from a2a_runtime.skills.contract import SkillContract
    from a2a_runtime.skills.handlers import HandlerMismatchError, StreamingHandler, UnaryHandler
    from a2a_runtime.skills.model import ClosedModel, SkillModel
    from a2a_runtime.skills.schema import TEXT, SchemaMismatchError, TypedSchema

__all__ = [
    "TEXT",
    "ClosedModel",
    "HandlerMismatchError",
    "Question",
    "SchemaMismatchError",
    "SkillContext",
    "SkillContract",
    "SkillModel",
    "StreamingHandler",
    "TypedSchema",
    "UnaryHandler",
]
# loaded late: clients do not need the engine, and agents without schemas no models
if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__, __all__, "schema", "model", "contract", "context", "handlers"
    )
