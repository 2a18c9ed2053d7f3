"""Finding what a text names as ``module:name``, and telling a wrong name from code that is there and fails."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class ImportFromStringError(ValueError):
    """There is nothing of this name. Whatever code raises when it is imported is raised as it is, with its own place."""


def import_from_string(name: str) -> object:
    """Import what is named."""
    module, _, attributes = name.partition(":")
    found: object = load_module(module)
    for attribute in attributes.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError as error:
            if error.obj is not found:
                raise  # of code that runs to find it
            raise ImportFromStringError(f"there is no {attribute} in {module}") from None
    return found


def load_module(name: str) -> ModuleType:
    """Import a module."""
    if not all(map(str.isidentifier, name.split("."))):
        raise ImportFromStringError(f"{name!r} is no name of a module")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # of what the module itself imports
        raise ImportFromStringError(f"there is no module {error.name}") from None
