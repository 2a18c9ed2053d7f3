"""Which types go into one module: those of one file, or of several files that refer to each other in a circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from a2a_gen.agent.shape import Definition, Either, ListOf, MapOf, Named, Record, Shape, Tuple
from a2a_gen.ir.names import module_name

Definitions = Mapping[str, tuple[str, Definition]]


def modules_of(definitions: Definitions) -> Mapping[str, str]:
    """Name the module of every type."""
    files = sorted({file for file, _ in definitions.values()})
    uses: dict[str, set[str]] = {file: set() for file in files}
    for file, definition in definitions.values():
        uses[file] |= {definitions[name][0] for name in names_in(definition)}
    reached = {file: reached_from(file, uses) for file in files}
    modules: dict[str, str] = {}
    for file in files:
        first = min(other for other in files if other == file or (other in reached[file] and file in reached[other]))
        modules[file] = modules[first] if first != file else _unique(file, modules)
    return {name: modules[file] for name, (file, _) in definitions.items()}


def names_in(definition: Definition) -> Iterator[str]:
    """List the types that a type is made of."""
    for shape in (member.shape for member in definition.members) if isinstance(definition, Record) else (definition.shape,):
        yield from _names(shape)


def _names(shape: Shape) -> Iterator[str]:
    match shape:
        case Named(name):
            yield name
        case ListOf(inner) | MapOf(inner):
            yield from _names(inner)
        case Either(several) | Tuple(several):
            for each in several:
                yield from _names(each)
        case _:
            return


def reached_from(start: str, uses: Mapping[str, set[str]]) -> set[str]:
    """Follow what uses what; the start itself is reached only in a circle."""
    seen: set[str] = set()
    waiting = [*uses[start]]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting.extend(uses[each])
    return seen


def _unique(file: str, modules: Mapping[str, str]) -> str:
    """Name the module of a file, and put folders in front where another file has that name."""
    path = PurePosixPath(file)
    parts = [module_name(part) for part in (*path.parts[:-1], path.name)]
    taken = set(modules.values())
    tries = ("_".join(parts[-length:]) for length in range(1, len(parts) + 1))
    return next((each for each in tries if each not in taken), f"{'_'.join(parts)}_{len(taken)}")
