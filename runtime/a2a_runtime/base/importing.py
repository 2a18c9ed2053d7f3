"""Import of objects by name: ``module:attribute``, the names of a package that are loaded on first
use, and libraries of extras.

A wrong name is told from code that fails when it is imported, and a library that is not installed
from a name that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType

EXTRAS: Mapping[str, str] = {
    "asyncpg": "postgres",
    "cryptography": "auth",
    "dotenv": "serve",
    "google": "grpc",
    "grpc": "grpc",
    "httpcore": "client",
    "httpx": "client",
    "jwt": "auth",
    "litestar": "litestar",
    "mcp": "mcp",
    "procrastinate": "workers",
    "psycopg": "workers",
    "prometheus_client": "metrics",
    "uvicorn": "serve",
}
"""Extra of this distribution that brings a package, by the name of its import."""


class MissingLibraryError(ModuleNotFoundError):
    """A library of an extra is not installed; the message has the command that installs it."""


@contextmanager
def explain_missing(subject: str, extra: str = "") -> Generator[None]:
    """Import libraries of extras; the error for a missing one names the extra that brings it, or
    ``extra``, which has it among others.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = to_missing_extra(error, subject, extra)
        if missing is None:
            raise
        raise missing from None


def to_missing_extra(
    error: ModuleNotFoundError, subject: str, extra: str = ""
) -> MissingLibraryError | None:
    """Convert the error of an import, if an extra brings the package."""
    if isinstance(error, MissingLibraryError):
        return error
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return MissingLibraryError(
        (
            f"{subject}: {package} is not installed; run pip install "
            f"'a2a-gen[{extra or EXTRAS[package]}]'"
        ),
        name=error.name,
    )


class ImportFromStringError(ValueError):
    """There is no module or attribute of this name.

    An error inside of the imported code is raised unchanged.
    """


def import_from_string(name: str) -> object:
    """Import an object named as ``module:attribute``."""
    module, _, attributes = name.partition(":")
    if not attributes:
        raise ImportFromStringError(f"{name!r} names no attribute; write module:attribute")
    found: object = load_module(module)
    for attribute in attributes.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError as error:
            if error.obj is not found:
                # a property or a module's __getattr__ raised it
                raise
            similar = get_close_matches(attribute, dir(found), 1)
            guess = f" (did you mean {similar[0]}?)" if similar else ""
            raise ImportFromStringError(f"there is no {attribute} in {module}{guess}") from None
    return found


def load_module(name: str) -> ModuleType:
    """Import a module."""
    if not all(map(str.isidentifier, name.split("."))):
        raise ImportFromStringError(f"{name!r} is not a module name")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            # an import inside of the module failed
            raise
        raise ImportFromStringError(f"there is no module {error.name}") from None


def lazy_names(package: str, names: Collection[str], *modules: str) -> Callable[[str], object]:
    """Build the ``__getattr__`` of a package that imports its public names on first use.

    A name is looked for in the modules in their order: those that load much, or need an extra, come
    last.
    """

    def load(name: str) -> object:
        found = (
            getattr(import_module(f".{module}", package), name, None)
            for module in modules
            if name in names
        )
        with explain_missing(f"{package}.{name}"):
            value = next((each for each in found if each is not None), None)
        if value is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return value

    return load


def names_by_module(
    package: str, modules: Mapping[str, Collection[str]]
) -> Callable[[str], object]:
    """Build the ``__getattr__`` of a package that imports each public name from the module that has
    it.
    """
    places: dict[str, str] = {}
    for module, names in modules.items():
        places.update(dict.fromkeys(names, module))

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with explain_missing(f"{package}.{name}"):
            return getattr(import_module(f"{package}.{places[name]}"), name)

    return load
