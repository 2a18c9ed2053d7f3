"""Translations between the canonical model and every other dialect: one module per schema file of
the dialect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from a2a_gen.emit.render import Code, render
from a2a_gen.emit.translate.expressions import function_name
from a2a_gen.emit.translate.plan import Module, TranslationPlan, build_plan
from a2a_gen.emit.translate.steps import BranchStep, Function, LookupTable, Make, Step
from a2a_gen.ir.extension import is_translated
from a2a_gen.ir.model import Contract
from a2a_gen.problems import ContractError, Problem


def emit(contract: Contract) -> dict[str, bytes]:
    """Emit the translations, or raise ``ContractError`` with the problems of all dialects."""
    plans = build_plans(contract)
    problems = list(chain.from_iterable(plan.problems for plan in plans))
    if problems:
        raise ContractError(problems)
    files = dict(chain.from_iterable(map(_files, plans)))
    if files:
        return {"translate/__init__.py": _root(plans), **files}
    return {}


def build_plans(contract: Contract) -> tuple[TranslationPlan, ...]:
    """Plan the translations of every dialect but the canonical one and those that extend it."""
    return tuple(
        build_plan(contract, dialect)
        for dialect in contract.dialects
        if is_translated(contract, dialect.name)
    )


def check(contract: Contract) -> tuple[Problem, ...]:
    """Report every problem of the translation tables."""
    return tuple(chain.from_iterable(plan.problems for plan in build_plans(contract)))


def _root(plans: Iterable[TranslationPlan]) -> bytes:
    titles = ", ".join(plan.dialect.title for plan in plans)
    summary = (
        "Translations between the canonical model and the other dialects of the protocol: "
        f"{titles}."
    )
    return render(
        "translate_package.py.jinja",
        sources=("dialects.json",),
        summary=summary,
        imports=(),
        names=(),
    )


def _files(plan: TranslationPlan) -> Iterator[tuple[str, bytes]]:
    folder = f"translate/{plan.dialect.name}"
    homes: dict[Code, str] = {}
    for module in plan.modules:
        names = (function.name for function in module.functions)
        homes |= dict.fromkeys(names, module.family.module)
    sources = ["dialects.json"]
    for module in plan.modules:
        yield f"{folder}/{module.family.module}.py", _module(plan, module, homes)
    yield (
        f"{folder}/__init__.py",
        render(
            "translate_package.py.jinja",
            sources=sources,
            summary=(
                f"Translations between {plan.dialect.title} and the canonical model: reading "
                "makes ours of theirs, writing makes theirs of ours."
            ),
            imports=_imports(homes.items()),
            names=sorted(homes),
        ),
    )


def _module(plan: TranslationPlan, module: Module, homes: Mapping[Code, str]) -> bytes:
    own = {function.name for function in module.functions}
    uses = chain.from_iterable(function.uses for function in module.functions)
    used = {Code(function_name(pair, direction)) for pair, direction in uses}
    supports = [name for name in ("base", "conversions") if f"{name}." in repr(module.functions)]
    return render(
        "translate.py.jinja",
        sources=(module.family.file, "dialects.json"),
        summary=(
            f"Translations of {module.family.file.rpartition('/')[2]} between "
            f"{plan.dialect.title} and the canonical model."
        ),
        modules=Code(", ".join(sorted((*supports, plan.dialect.name, plan.canonical)))),
        imports=_imports((name, homes[name]) for name in used - own),
        tables=_tables(module.functions),
        functions=[
            (function, list(_lines(function.steps, 1, set()))) for function in module.functions
        ],
    )


def _imports(homes: Iterable[tuple[Code, str]]) -> list[tuple[Code, list[Code]]]:
    grouped: dict[str, list[Code]] = {}
    for name, home in sorted(homes):
        grouped.setdefault(home, []).append(name)
    return [(Code(f".{home}"), names) for home, names in sorted(grouped.items())]


def _tables(functions: Iterable[Function]) -> list[LookupTable]:
    tables = chain.from_iterable(function.tables for function in functions)
    return list({table.name: table for table in tables}.values())


def _lines(steps: Iterable[Step], depth: int, made: set[str]) -> Iterator[tuple[Code, Step, bool]]:
    """Yield each step with its indent and a flag for a new object; steps under a condition follow
    it.
    """
    for step in steps:
        is_new = isinstance(step, Make) and step.name not in made
        made |= {step.name} if isinstance(step, Make) else set()
        yield Code("    " * depth), step, is_new
        if isinstance(step, BranchStep):
            yield from _lines(step.steps, depth + 1, made)
