"""Providers of dependencies: the functions that an agent declares, their order, and the parameters
of handlers that take their values.

    agent.provide(pool=open_pool)                    once per process
    agent.provide_per_run(session=open_session)      for each run that needs it

    provider                                          value
    async function, plain function                    what it returns
    async generator, generator                        what it yields; the rest runs at the end
    context manager: a class, or a function of one    what it gives when entered; left at the end

Providers take each other by parameter name. Those of a run may also take ``ctx``. There is no
request: a task also runs after a restart, and in other processes, where there is none.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ContextDecorator,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from functools import partial

from a2a_runtime.engine.handlers.skill import Skill, find_parameters

CONTEXT = "ctx"
"""Parameter of a provider that is the context of the run."""

_KEYWORD_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_ITERATED: frozenset[object] = frozenset(
    (AsyncGenerator, AsyncIterator, AsyncIterable, Generator, Iterator, Iterable)
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A declared dependency."""

    name: str
    function: Callable[..., object]
    per_run: bool

    def __str__(self) -> str:
        return f"dependency {self.name!r}"

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters by name; those of a function in C without a signature are unknown."""
        try:
            signature = inspect.signature(self.function)
        except ValueError:
            return {}
        return {
            name: each for name, each in signature.parameters.items() if each.kind in _KEYWORD_KINDS
        }

    @property
    def value_type(self) -> object:
        """The annotated type of the value; ``None`` if it is unknown."""
        if inspect.isclass(self.function):
            if hasattr(self.function, "__aenter__"):
                return None
            return self.function
        returned = find_annotations(self.function).get("return")
        origin = typing.get_origin(returned)
        if origin in _ITERATED and _yields(self.function):
            return typing.get_args(returned)[0]
        if inspect.isclass(origin or returned) and hasattr(origin or returned, "__aenter__"):
            return None
        return returned

    async def open(self, values: Mapping[str, object], stack: AsyncExitStack) -> object:
        """Make the value; what has to be closed is closed by the stack."""
        made = self.function(**{name: values[name] for name in self.parameters if name in values})
        if inspect.isasyncgen(made):
            made = asynccontextmanager(partial(_pass, made))()
        elif inspect.isgenerator(made):
            made = contextmanager(partial(_pass, made))()
        if hasattr(type(made), "__aenter__"):
            # It has the methods of an asynchronous one.
            return self._check_entered(await stack.enter_async_context(made))  # type: ignore[arg-type]  # so
        if _is_context(made):
            return self._check_entered(stack.enter_context(made))
        if inspect.isawaitable(made):
            return await made
        return made

    def _check_entered(self, value: object) -> object:
        if value is None:
            raise ValueError(
                f"{self}: its context manager gives no value; yield one, or return the "
                "object from an async function"
            )
        return value


def _is_context(value: object) -> typing.TypeGuard[AbstractContextManager[object]]:
    """Tell a context manager of a dependency from a lock, or from the transaction of a
    connection.
    """
    return isinstance(value, AbstractContextManager) and isinstance(value, ContextDecorator)


def _pass(value: typing.Any) -> typing.Any:  # noqa: ANN401 - a generator of either kind
    return value


def _yields(function: Callable[..., object]) -> bool:
    while isinstance(function, partial):
        function = function.func
    plain = inspect.unwrap(function)
    return inspect.isasyncgenfunction(plain) or inspect.isgeneratorfunction(plain)


def find_annotations(function: object) -> Mapping[str, object]:
    """Resolve the annotations of a function; empty if one of them cannot be resolved, such as a
    name that is imported for type checkers only.
    """
    while isinstance(function, partial):
        function = function.func
    try:
        if callable(function):
            function = inspect.unwrap(function)
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}


class ProviderGraph:
    """The providers of an agent in the order in which they are opened."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = providers
        self.ordered: list[Provider] = []
        """Each provider after those that it takes."""
        for provider in providers.values():
            self._visit(provider, ())

    def select(self, names: Iterable[str]) -> list[Provider]:
        """Select the providers of a run for these names, with those that they take."""
        needed = set(names)
        for provider in reversed(self.ordered):
            if provider.name in needed:
                needed |= provider.parameters.keys()
        return [each for each in self.ordered if each.per_run and each.name in needed]

    def find_names(self, skill: Skill) -> tuple[str, ...]:
        """Find the dependencies that a handler takes; raise ``ValueError`` for a parameter that
        nothing provides, or of another type.
        """
        context, others = find_parameters(skill.handler)
        annotations = find_annotations(skill.handler)
        if context in self._providers:
            raise ValueError(
                f"skill {skill.id!r}: parameter {context!r} is the context; add the "
                f"dependency behind it: ({CONTEXT}, {context})"
            )
        for name, parameter in others.items():
            if name in self._providers:
                _check_type(
                    f"skill {skill.id!r}", name, annotations.get(name), self._providers[name]
                )
            elif parameter.default is parameter.empty:
                known = ", ".join(self._providers) or "none"
                raise ValueError(
                    f"skill {skill.id!r}: parameter {name!r} is not a dependency; declare it "
                    f"with agent.provide({name}=…) or "
                    f"agent.provide_per_run({name}=…). Known: {known}. Parameters that are "
                    "input are annotated with data, "
                    "and the first of them is the first parameter; a model is the whole input"
                )
        return tuple(name for name in others if name in self._providers)

    def _visit(self, provider: Provider, path: tuple[str, ...]) -> None:
        if provider.name in path:
            raise ValueError(
                f"{provider}: takes itself ({' → '.join((*path, provider.name))}); remove "
                "one of these parameters"
            )
        if provider in self.ordered:
            return
        annotations = find_annotations(provider.function)
        for name, parameter in provider.parameters.items():
            taken = self._providers.get(name)
            if taken is not None:
                if taken.per_run and not provider.per_run:
                    raise ValueError(
                        f"{provider}: outlives the run of {name!r}, which it takes; use "
                        f"agent.provide_per_run({provider.name}=…)"
                    )
                _check_type(str(provider), name, annotations.get(name), taken)
                self._visit(taken, (*path, provider.name))
            elif name == CONTEXT and not provider.per_run:
                raise ValueError(
                    f"{provider}: takes {CONTEXT}, which exists in runs only; use "
                    f"agent.provide_per_run({provider.name}=…)"
                )
            elif name != CONTEXT and parameter.default is parameter.empty:
                raise ValueError(
                    f"{provider}: its parameter {name!r} is neither {CONTEXT} nor a "
                    f"dependency; declare it with agent.provide({name}=…)"
                )
        self.ordered.append(provider)


def _check_type(subject: str, name: str, wanted: object, provider: Provider) -> None:
    if not _is_compatible(provider.value_type, wanted):
        given = getattr(provider.value_type, "__qualname__", provider.value_type)
        expected = getattr(wanted, "__qualname__", wanted)
        raise ValueError(
            f"{subject}: parameter {name!r} is annotated as {expected}, but the dependency "
            f"is {given}; correct one of them"
        )


def _is_compatible(given: object, wanted: object) -> bool:
    """Compare two types as far as both are classes, or unions of them."""
    if typing.get_origin(wanted) in {typing.Union, types.UnionType}:
        return any(_is_compatible(given, each) for each in typing.get_args(wanted))
    given_class = typing.get_origin(given) or given
    wanted_class = typing.get_origin(wanted) or wanted
    if not (inspect.isclass(given_class) and inspect.isclass(wanted_class)) or getattr(
        wanted_class, "_is_protocol", False
    ):
        return True
    return issubclass(given_class, wanted_class)
