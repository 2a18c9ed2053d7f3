"""Maximum lengths of modules and functions: a function fits on one screen, a module into one
sitting.
"""

from __future__ import annotations

from style.source_files import ROOT, Function, Source, sources

HAND_WRITTEN = sources("codegen", "runtime", "tests", "bench", "examples")
GENERATED = sources("generated")
TEMPLATES = sorted((ROOT / "codegen").rglob("*.jinja*"))


def parameters(function: Function) -> int:
    """Count what a caller may pass: `self` and `cls` are not passed."""
    listed = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([argument for argument in listed if argument.arg not in {"self", "cls"}])


MOST_MODULE_LINES = 500
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 6


def test_modules_and_functions_are_short() -> None:
    """Nothing is too long: two subjects get two modules, and two steps two functions."""
    assert [name for source in HAND_WRITTEN for name in find_too_long(source)] == []


def find_too_long(source: Source) -> list[str]:
    """Name a module that is too long, and functions that are."""
    found = [str(source)] if source.text.count("\n") > MOST_MODULE_LINES else []
    for function in source.functions():
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > MOST_FUNCTION_LINES or parameters(function) > MOST_PARAMETERS:
            found.append(f"{source}: {function.name}")
    return found


def test_generated_modules_are_readable() -> None:
    """A generated module has fewer lines than a hand-written one may have."""
    assert [
        f"{source}: {source.text.count(chr(10))}"
        for source in GENERATED
        if source.text.count("\n") >= MOST_MODULE_LINES
    ] == []


def test_templates_are_short() -> None:
    """A template has at most 80 lines: what needs more decides something."""
    assert [path.name for path in TEMPLATES if path.read_text().count("\n") > 80] == []
