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


def test_modules_and_functions_are_short() -> None:
    """A hand-written module has at most 400 lines, a function 50 lines and six parameters."""
    assert [each for source in HAND_WRITTEN for each in too_long_in(source)] == []


def too_long_in(source: Source) -> list[str]:
    """List what is too long in a file, with its length."""
    too_long = (
        [f"{source}: {source.text.count(chr(10))} lines"] if source.text.count("\n") > 400 else []
    )
    for function in source.functions():
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > 50:
            too_long.append(f"{source}:{function.lineno}: {function.name} has {lines} lines")
        if parameters(function) > 6:
            too_long.append(
                f"{source}:{function.lineno}: {function.name} has {parameters(function)} parameters"
            )
    return too_long


def test_generated_modules_are_readable() -> None:
    """A generated module has fewer than 400 lines."""
    assert [
        f"{source}: {source.text.count(chr(10))}"
        for source in GENERATED
        if source.text.count("\n") >= 400
    ] == []


def test_templates_are_short() -> None:
    """A template has at most 80 lines: what needs more decides something."""
    assert [path.name for path in TEMPLATES if path.read_text().count("\n") > 80] == []
