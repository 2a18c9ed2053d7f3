"""Whether a handler asks its caller something, as far as its code shows it.

A surface on which nobody can answer refuses such a handler when the app starts, and not when the first task hangs for ever.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import CodeType

from a2a_runtime.execution.context import TaskContext

_QUESTIONS = frozenset((TaskContext.ask.__name__, TaskContext.require_auth.__name__))


def asks(handler: Callable[..., object]) -> bool:
    """Look for questions in the code of a handler and in the functions within it."""
    plain: object = handler
    while isinstance(plain, functools.partial):
        plain = plain.func
    found: object = inspect.unwrap(plain) if callable(plain) else plain
    function = found if inspect.isroutine(found) else type(found).__call__
    code: object = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and any(not _QUESTIONS.isdisjoint(each.co_names) for each in _with_inner(code))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
