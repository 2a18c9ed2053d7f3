"""Which kind of JSON a value is: `isinstance` as type checkers understand it, so that what is inside is an object and not anything."""

from typing import TypeGuard


def is_json_array(value: object) -> TypeGuard[list[object]]:
    """Tell whether a value is a list."""
    return isinstance(value, list)


def is_json_object(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a value is an object, whose keys are text wherever it came from JSON."""
    return isinstance(value, dict)
