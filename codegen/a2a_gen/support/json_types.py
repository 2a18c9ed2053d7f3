"""Kinds of JSON values: ``isinstance`` checks that narrow to ``object`` members instead of
``Any``.
"""

from typing import Any, Final, TypeAlias, TypeGuard

JsonMembers: TypeAlias = dict[str, Any]
"""The members of JSON that a model has written: their types are those of the model."""

NO_MEMBERS: Final[JsonMembers] = {}
NO_ITEMS: Final[list[Any]] = []


def is_json_array(value: object) -> TypeGuard[list[object]]:
    """Check that a value is a list."""
    return isinstance(value, list)


def is_json_object(value: object) -> TypeGuard[dict[str, object]]:
    """Check that a value is an object, whose keys are text wherever it came from JSON."""
    return isinstance(value, dict)
