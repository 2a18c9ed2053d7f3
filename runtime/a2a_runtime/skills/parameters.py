"""Functions of several values: their input is one JSON object with a member per parameter.

    async def add(a: int, b: int = 1, *, ctx, calculator) -> int        {"a": 1, "b": 2}

parameter                                         is
the first, a model, dataclass or dict             the whole input, alone
the first, any other data                         a member, if another parameter is one too;
                                                  else the whole input
annotated with data, no dependency by its name    a member; required if it has no default
any other                                         a dependency, which must be declared when the app
                                                  starts

A dependency that is data, such as settings, is declared before the skill; a later one of the same
name, or of nearly the same one, is refused.
"""

from __future__ import annotations

import copy
import difflib
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, make_dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict

_CLOSE_NAMES = 0.75
"""Likeness from which a name is taken for a misspelt other one."""


@dataclass(frozen=True, slots=True)
class Members:
    """The parameters of a function that are members of its input, with the class of the input."""

    input: type[Any]
    names: Sequence[str]
    positional: Sequence[str]

    def bind(self, function: Callable[..., Any], request: object) -> Callable[..., Any]:
        """Bind the members of an input to the parameters of the function."""
        values = {name: getattr(request, name) for name in self.names}
        return partial(function, *(values.pop(name) for name in self.positional), **values)


def is_object(annotation: object) -> bool:
    """Return whether values of a type are JSON objects, which are a whole input."""
    found = typing.get_origin(annotation) or annotation
    return inspect.isclass(found) and (
        issubclass(found, BaseModel | dict) or is_dataclass(found) or typing.is_typeddict(found)
    )


def build_members(skill_id: str, parameters: Sequence[tuple[inspect.Parameter, object]]) -> Members:
    """Build the input of a function from its parameters and their types."""
    fields: list[Any] = []
    for parameter, annotation in parameters:
        if parameter.default is parameter.empty:
            fields.append((parameter.name, annotation))
        elif type(parameter.default).__hash__ is None:
            # every call gets a list or the like as its own
            fields.append(
                (
                    parameter.name,
                    annotation,
                    field(default_factory=partial(copy.deepcopy, parameter.default)),
                )
            )
        else:
            fields.append((parameter.name, annotation, field(default=parameter.default)))
    name = "".join(word[:1].upper() + word[1:] for word in skill_id.replace("_", "-").split("-"))
    members = make_dataclass(
        f"{name}Input",
        fields,
        kw_only=True,
        namespace={"__pydantic_config__": ConfigDict(extra="forbid")},
    )
    names = tuple(parameter.name for parameter, _ in parameters)
    return Members(
        members,
        names,
        tuple(each.name for each, _ in parameters if each.kind is each.POSITIONAL_ONLY),
    )


def check_members(subject: str, names: Collection[str], dependencies: Mapping[str, object]) -> None:
    """Refuse members that are dependencies, or misspelt ones: they would be read from requests."""
    for name in names:
        if name in dependencies:
            raise ValueError(
                f"{subject}: parameter {name!r} became a member of its input, and is a "
                "dependency too; "
                f"call agent.provide({name}=…) before the skill is added, or rename one of them"
            )
        if close := difflib.get_close_matches(name, dependencies, 1, _CLOSE_NAMES):
            raise ValueError(
                f"{subject}: parameter {name!r} is a member of its input, and nearly the "
                f"dependency {close[0]!r}; "
                "correct it, or give one of them another name"
            )
