"""Values of a storage: conversion between canonical models and the models that the storage was
written for.

Those are found where the storage itself is defined: a class of its line of descent stands in a
module that has ``Task``, ``Message``, ``Artifact``, ``TaskState``, ``ArtifactWrite`` and
``ListTasksQuery``, as ``a2akit.storage.base`` and ``a2a_runtime.features.simple_stores.storage``
do. An object that descends from none of them gets the canonical models.

Models of A2A 0.3 are told by the words of their states, and translated as in the dialect.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any, Protocol, cast

from pydantic_core import to_json

from a2a_contract import errors as contract_errors
from a2a_contract import v0_3
from a2a_contract.base import JsonMembers, WireModel
from a2a_contract.errors import A2AError
from a2a_contract.translate import v0_3 as translation
from a2a_contract.v1_0 import Artifact, Message, Task, TaskState
from a2a_runtime import errors
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.features.simple_stores import storage as own_models
from a2a_runtime.stores.models import TaskQuery

REQUIRED = ("load_task", "create_task", "update_task")
OPTIONAL = (
    "list_tasks",
    "delete_task",
    "delete_context",
    "get_version",
    "load_context",
    "update_context",
)
_NAMES = ("Artifact", "ArtifactWrite", "ListTasksQuery", "Message", "Task", "TaskState")
_ERRORS: Mapping[str, type[A2AError]] = {
    "ConcurrencyError": errors.ConcurrencyError,
    "ContextMismatchError": errors.ContextMismatchError,
    "TaskNotAcceptingMessagesError": errors.TaskNotAcceptingMessagesError,
    "TaskNotCancelableError": contract_errors.TaskNotCancelableError,
    "TaskNotFoundError": contract_errors.TaskNotFoundError,
    "TaskTerminalStateError": errors.TaskTerminalError,
    "UnsupportedOperationError": contract_errors.UnsupportedOperationError,
}


class StorageCalls(Protocol):
    """Methods of a storage, whose models are known only at run time."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Return a method."""
        ...


class StorageCodec:
    """The optional methods of a storage, and the models that it takes."""

    def __init__(self, storage: object) -> None:
        missing = [name for name in REQUIRED if not callable(getattr(storage, name, None))]
        if missing:
            raise UnsupportedStoreError(
                f"{type(storage).__name__}: not a storage; add {', '.join(missing)}"
            )
        self.name = type(storage).__name__
        self._models = cast("Any", _find_models(type(storage)))
        self._is_0_3 = {str(state.value) for state in self._models.TaskState} <= {
            state.value for state in v0_3.TaskState
        }
        self._methods = frozenset(
            name for name in OPTIONAL if _has_method(type(storage), name) or name in vars(storage)
        )

    def has(self, *names: str) -> bool:
        """Return whether the storage has these optional methods: more than those of an abstract
        base.
        """
        return self._methods.issuperset(names)

    @property
    def missing(self) -> list[str]:
        """The optional methods that it lacks."""
        return [name for name in OPTIONAL if name not in self._methods]

    def to_message(self, message: Message) -> object:
        """Convert a message."""
        return self._build(self._models.Message, message, translation.write_message)

    def to_artifact_write(self, artifact: Artifact, *, append: bool) -> object:
        """Convert a write of an artifact."""
        return self._models.ArtifactWrite(
            artifact=self._build(self._models.Artifact, artifact, translation.write_artifact),
            append=append,
        )

    def to_state(self, state: str) -> object:
        """Convert a state."""
        canonical = TaskState(state)
        value = canonical.value
        if self._is_0_3:
            value = translation.write_task_state(canonical)
        return self._models.TaskState(value)

    def to_query(self, query: TaskQuery, page_size: int, page_token: str) -> object:
        """Convert the filters of a list; history and artifacts are left out."""
        after = query.changed_after
        return self._models.ListTasksQuery(
            context_id=query.context_id,
            status=None if query.state is None else self.to_state(query.state),
            page_size=page_size,
            page_token=page_token or None,
            history_length=query.history_length,
            status_timestamp_after=None if after is None else after.isoformat(),
        )

    def read_task(self, task: Any) -> Task:  # noqa: ANN401 - a model of another library
        """Convert a task that the storage has returned."""
        if isinstance(task, Task):
            return task
        body = task.model_dump_json(by_alias=True, exclude_none=True)
        if self._is_0_3:
            return Task.model_validate(translation.read_task(v0_3.Task.model_validate_json(body)))
        return Task.model_validate_json(body)

    def _build(
        self,
        model: Any,  # noqa: ANN401 - a class of another library
        value: WireModel,
        translate: Callable[[JsonMembers], Mapping[str, object]],
    ) -> object:
        if isinstance(value, model):
            return value
        encoded = value.to_json()
        if self._is_0_3:
            encoded = to_json(translate(value.to_dict()))
        return model.model_validate_json(encoded)


def to_store_error(error: Exception, name: str) -> A2AError:
    """Convert an exception of a storage: known ones by the names of their classes, any other one
    means that it is unavailable.
    """
    if isinstance(error, A2AError):
        return error
    for each in type(error).__mro__:
        if each.__name__ in _ERRORS:
            return _ERRORS[each.__name__](str(error))
    if isinstance(error, NotImplementedError):
        return contract_errors.UnsupportedOperationError()
    return StoreUnavailableError(f"{name}: {type(error).__name__}: {error}")


def _find_models(storage: type) -> ModuleType:
    for each in storage.__mro__:
        module = sys.modules.get(each.__module__)
        if module is not None and all(hasattr(module, name) for name in _NAMES):
            return module
    return own_models


def _has_method(storage: type, name: str) -> bool:
    """Return whether a class defines a method, other than an abstract base with its default."""
    owner = next((each for each in storage.__mro__ if name in vars(each)), None)
    return owner is not None and "load_task" not in getattr(owner, "__abstractmethods__", ())
