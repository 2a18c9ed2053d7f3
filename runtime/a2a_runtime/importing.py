"""Import of objects by name: ``module:attribute``, and the names of a package that are loaded on first use.

A wrong name is told from code that fails when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from types import ModuleType


class ImportFromStringError(ValueError):
    """There is no module or attribute of this name. An error inside of the imported code is raised unchanged."""


def import_from_string(name: str) -> object:
    """Import an object named as ``module:attribute``, or a module."""
    module, _, attributes = name.partition(":")
    found: object = load_module(module)
    for attribute in attributes.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError as error:
            if error.obj is not found:
                raise  # from a property or a module's __getattr__
            raise ImportFromStringError(f"there is no {attribute} in {module}") from None
    return found


def load_module(name: str) -> ModuleType:
    """Import a module."""
    if not all(map(str.isidentifier, name.split("."))):
        raise ImportFromStringError(f"{name!r} is not a module name")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # of an import inside of the module
        raise ImportFromStringError(f"there is no module {error.name}") from None


def lazy_names(package: str, names: Collection[str], *modules: str) -> Callable[[str], object]:
    """Build the ``__getattr__`` of a package that imports its public names on first use.

    A name is looked for in the modules in their order: those that load much, or need an extra, come last.
    """

    def load(name: str) -> object:
        found = (getattr(import_module(f"{package}.{module}"), name, None) for module in modules if name in names)
        if (value := next((each for each in found if each is not None), None)) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return value

    return load
