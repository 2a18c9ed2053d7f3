"""Smaller pairs of schemas: what is left of a pair when everything is cut that it does not need to
show what it shows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from contract.fuzzing import Json

Schema: TypeAlias = dict[str, Json]
Path: TypeAlias = tuple[str | int, ...]
_UNIONS = ("allOf", "anyOf", "oneOf")


def shrink(
    old: Schema, new: Schema, shows: Callable[[Schema, Schema], bool]
) -> tuple[Schema, Schema]:
    """Cut both schemas, at the same places and each alone, as long as the rest still shows it."""
    candidates = _list_smaller(old, new)
    while (smaller := next(candidates, None)) is not None:
        if shows(*smaller):
            old, new = smaller
            candidates = _list_smaller(old, new)
    return old, new


def _list_smaller(old: Schema, new: Schema) -> Iterator[tuple[Schema, Schema]]:
    paths = sorted(dict.fromkeys(chain(_list_paths(old), _list_paths(new))), key=len)
    for edit in (_cut_member, _lift, _replace_by_true, _replace_by_false):
        for path in paths:
            left = _edit(old, path, edit)
            right = _edit(new, path, edit)
            if left is not None and right is not None:
                yield left, right
            if left is not None:
                yield left, new
            if right is not None:
                yield old, right


def _list_paths(value: Json, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict):
        steps: Iterable[tuple[str | int, Json]] = value.items()
    elif isinstance(value, list):
        steps = enumerate(value)
    else:
        return
    for step, inner in steps:
        yield from _list_paths(inner, (*path, step))


def _edit(schema: Schema, path: Path, edit: Callable[[Json, str | int], bool]) -> Schema | None:
    """Edit a copy; `None` if there is nothing to edit."""
    made = copy.deepcopy(schema)
    holder: Json = made
    for step in path[:-1]:
        inner = _get(holder, step)
        if inner is None:
            return None
        holder = inner
    return made if _get(holder, path[-1]) is not None and edit(holder, path[-1]) else None


def _get(holder: Json, step: str | int) -> Json:
    if isinstance(holder, dict):
        return holder.get(str(step))
    return (
        holder[step]
        if isinstance(holder, list) and isinstance(step, int) and step < len(holder)
        else None
    )


def _set(holder: Json, step: str | int, value: Json) -> None:
    if isinstance(holder, dict):
        holder[str(step)] = value
    elif isinstance(holder, list) and isinstance(step, int):
        holder[step] = value


def _cut_member(holder: Json, step: str | int) -> bool:
    if isinstance(holder, dict):
        del holder[str(step)]
    elif isinstance(holder, list) and isinstance(step, int):
        del holder[step]
    return True


def _lift(holder: Json, step: str | int) -> bool:
    """Write the first branch of a union in place of the union."""
    branches = _get(holder, step)
    if (
        step not in _UNIONS
        or not isinstance(holder, dict)
        or not isinstance(branches, list)
        or not branches
        or not isinstance(branches[0], dict)
    ):
        return False
    del holder[str(step)]
    holder |= branches[0]
    return True


def _replace_by_true(holder: Json, step: str | int) -> bool:
    return _replace(holder, step, by=True)


def _replace_by_false(holder: Json, step: str | int) -> bool:
    return _replace(holder, step, by=False)


def _replace(holder: Json, step: str | int, *, by: bool) -> bool:
    if not isinstance(_get(holder, step), dict):
        return False
    _set(holder, step, by)
    return True
