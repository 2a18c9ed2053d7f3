"""Names of questions: a function that is named like one answers yes or no."""

from __future__ import annotations

import ast
import re

from style.source_files import Function, sources

PRODUCT = sources("codegen", "runtime")
QUESTION = re.compile(r"_*(is|has|can|should|may)_")
ANSWER = re.compile(r"\b(bool|TypeGuard|TypeIs)\b")


def test_questions_return_bool() -> None:
    """A caller who reads ``is_…`` or ``has_…`` expects true or false."""
    assert [
        f"{source}:{function.lineno}: {function.name} returns {describe_result(function)}"
        for source in PRODUCT
        for function in source.functions()
        if QUESTION.match(function.name) and not ANSWER.search(describe_result(function))
    ] == []


def describe_result(function: Function) -> str:
    """Return the annotation of the result, as it is written."""
    return ast.unparse(function.returns) if function.returns else "an unknown type"
