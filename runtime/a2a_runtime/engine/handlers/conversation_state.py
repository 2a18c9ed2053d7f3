"""State of a conversation: one JSON object, which the handlers of its tasks share.

It belongs to the skills that have written to it: a handler sees it only if its caller may use all
of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, overload

from msgspec import Struct
from pydantic import BaseModel, TypeAdapter, ValidationError

from a2a_contract.base import JsonAny
from a2a_contract.json_types import is_json_object
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.handlers import results
from a2a_runtime.stores.base import Store

M = TypeVar("M", bound=BaseModel)

_JSON: TypeAdapter[object] = TypeAdapter(JsonAny)


class SkillView(Struct, frozen=True):
    """Skill of a run, and the skills that its caller may not use: the handler reads nothing of
    theirs.
    """

    skill: str = ""
    hidden_skills: Sequence[str] = ()


class ContextState:
    """State that the tasks of a conversation share: one JSON object.

    It is empty for a caller who may not use one of the skills that have written to it; then an
    update raises ``PermissionDeniedError``.
    """

    def __init__(self, store: Store, scope: TaskScope, context_id: str, view: SkillView) -> None:
        self._store = store
        self._scope = scope
        self._context_id = context_id
        self._view = view

    @overload
    async def load(self) -> Mapping[str, object]: ...
    @overload
    async def load(self, model: type[M]) -> M: ...
    async def load(self, model: type[M] | None = None) -> Mapping[str, object] | M:
        """Read the state, as a model if one is given; empty if none was written."""
        data = (
            await self._store.load_context(self._scope, self._context_id, self._view.hidden_skills)
            or {}
        )
        if model is None:
            return data
        return model.model_validate(data)

    async def update(self, data: Mapping[str, object] | BaseModel) -> None:
        """Replace the state by a mapping or a model; ``TypeError`` for anything that is no JSON
        object.
        """
        document = results.to_json_value(data, "ctx.state")
        try:
            value = _JSON.validate_python(document)
        except ValidationError as error:
            raise TypeError(
                f"ctx.state: {type(data).__qualname__} cannot be serialized as JSON: {error}"
            ) from error
        if not is_json_object(value):
            raise TypeError(
                f"ctx.state: {type(data).__qualname__} is no JSON object; update it with a "
                "mapping or a model"
            )
        await self._store.update_context(
            self._scope, self._context_id, value, self._view.skill, self._view.hidden_skills
        )
