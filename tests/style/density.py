"""Density of the code, sizes of its rooms, and the lines of the core that name a feature.

    python tests/style/density.py                        # the tables
    python tests/style/density.py --details ternaries    # the places, also of a feature: srs

Densities count per 1,000 lines that hold a token of code; sizes count tokens of code, which no
formatter changes. The script exits with 1 if a density is above its limit; `make check` runs it.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from style.source_files import Source, sources

RATES = ("ternaries", "parallel", "comprehensions")
"""Counted per 1,000 lines of code."""

NUMBERS = ("nested", "complex", "star literals")
"""Counted as they are: ternaries in ternaries, comprehensions that have to be read twice, and
stars before literals."""

LIMITS = {
    "runtime": {"ternaries": 15, "parallel": 1, "nested": 0, "complex": 15, "star literals": 2},
    "codegen": {"parallel": 1, "nested": 0, "complex": 10, "star literals": 2},
    "tests": {"parallel": 1, "nested": 0},
    "bench": {"parallel": 1, "nested": 0},
}
"""At most so many. They only fall."""

LEAST_COMMENTS = {"runtime": 1, "codegen": 1}
"""At least so many comments on lines of their own, in percent of the lines of code."""

CORE = frozenset(
    {
        "__init__",
        "agent",
        "app",
        "auth",
        "base",
        "engine",
        "errors",
        "http",
        "net",
        "plugin",
        "ports",
        "process",
        "service",
        "settings",
        "skills",
        "stores",
        "surface",
    }
)
"""The rooms that every agent needs. `ports` names features by its task."""

FEATURES = {
    "srs": r"\bsrs|SRS|_srs|Srs",
    "mesh": r"\bmesh\b|MESH|_mesh|Mesh",
    "grpc": r"grpc|GRPC|Grpc",
    "metrics and traces": r"metrics|tracing|Tracing|Metrics",
    "draft 1.1": r"\bgeneration|_generation|Generation|V1_1|timeline_",
    "profile 1.0.1": r"\bprofile|Profile",
    "double base64": r"double_base64|encode_twice|decode_once",
    "explorer and pages": r"explorer|landing|Landing",
}
"""By feature, how a line of the core names it."""

MOST_MENTIONS = 44
"""At most so many lines of the core name a feature, see ``docs/adr/thin-core.md``. The number only
falls.
"""

_NO_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.ENCODING,
    }
)
_PRAGMA = re.compile(r"#\s*(?:noqa|type:|pyright:|fmt:|pragma|mypy:|isort:|ruff:|!|-\*-)")
_COMPREHENSIONS = (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


@dataclass
class Report:
    """The numbers by folder and by room, and the places that were asked for."""

    requested: str = ""
    folders: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rooms: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    mentions: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)

    def add(self, folder: str, source: Source) -> None:
        """Count one file."""
        documented = find_docstring_lines(source.tree)
        found = count(source, documented)
        self.folders[folder] += found
        for kind, line in find_dense(source.tree):
            self._note(kind, source, line)
        if folder != "runtime":
            return
        room = name_room(source.path)
        self.rooms[room] += found
        if room in CORE and room != "ports":
            self._find_mentions(source, documented)

    def _find_mentions(self, source: Source, documented: set[int]) -> None:
        for number, line in enumerate(source.text.split("\n"), 1):
            if number in documented or line.strip().startswith("#"):
                continue
            for feature, pattern in FEATURES.items():
                if re.search(pattern, line):
                    self.mentions[feature] += 1
                    self._note(feature, source, number)

    def _note(self, kind: str, source: Source, line: int) -> None:
        if kind == self.requested:
            text = source.text.split("\n")[line - 1].strip()
            self.places.append(f"{source}:{line}: {text}")


def find_docstring_lines(tree: ast.Module) -> set[int]:
    """Find the lines of docstrings, those of attributes too."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def count(source: Source, documented: set[int]) -> Counter[str]:
    """Count modules, tokens, lines of code, comments and what is dense in a file."""
    found = Counter(kind for kind, _ in find_dense(source.tree))
    found["modules"] = 1
    code_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        is_comment = token.type == tokenize.COMMENT
        if is_comment and token.line.strip() == token.string and not _PRAGMA.match(token.string):
            found["comments"] += 1
        if token.type in _NO_CODE:
            continue
        is_docstring = token.type == tokenize.STRING and token.start[0] in documented
        if not is_docstring:
            found["tokens"] += 1
            code_lines.update(range(token.start[0], token.end[0] + 1))
    found["code lines"] = len(code_lines - documented)
    return found


def find_dense(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Name what is dense, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            yield "ternaries", node.lineno
            if isinstance(node.orelse, ast.IfExp) or isinstance(node.body, ast.IfExp):
                yield "nested", node.lineno
        elif isinstance(node, ast.Assign) and is_parallel(node):
            yield "parallel", node.lineno
        elif isinstance(node, _COMPREHENSIONS):
            yield "comprehensions", node.lineno
            if is_complex(node):
                yield "complex", node.lineno
        elif isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
            yield "star literals", node.lineno


def is_parallel(node: ast.Assign) -> bool:
    """Tell whether a statement assigns several things at once, and is no swap."""
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return False
    assigned = {ast.unparse(each) for each in target.elts}
    used = {ast.unparse(each) for each in ast.walk(value) if isinstance(each, ast.expr)}
    return not assigned & used


def is_complex(node: ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp) -> bool:
    """Tell whether a comprehension has to be read twice."""
    if len(node.generators) > 1 or any(len(each.ifs) > 1 for each in node.generators):
        return True
    inner = (*_COMPREHENSIONS, ast.IfExp, ast.Await, ast.NamedExpr)
    return any(isinstance(each, inner) for each in ast.walk(node) if each is not node)


def name_room(path: Path) -> str:
    """Name the room of a module: a module or package at the first level, or a feature."""
    parts = path.with_suffix("").parts
    below = parts[parts.index("a2a_runtime") + 1 :]
    return ".".join(below[:2]) if below[0] == "features" else below[0]


def measure(requested: str = "") -> Report:
    """Count everything. Packages for tests are no part of what an agent loads."""
    report = Report(requested)
    for folder in LIMITS:
        for source in sources(folder):
            if "testing" not in source.path.parts and "a2a_contract" not in source.path.parts:
                report.add(folder, source)
    return report


def find_excess(report: Report) -> list[str]:
    """List what is above its limit."""
    found = []
    for folder, limits in LIMITS.items():
        counted = report.folders[folder]
        for kind, most in limits.items():
            value = get_rate(counted, kind) if kind in RATES else counted[kind]
            if round(value, 1) > most:
                found.append(f"{folder}: {kind} {value:.1f}, at most {most}")
    for folder, least in LEAST_COMMENTS.items():
        percent = get_rate(report.folders[folder], "comments") / 10
        if round(percent, 1) < least:
            found.append(f"{folder}: comments {percent:.2f} %, at least {least} %")
    mentions = report.mentions.total()
    if mentions > MOST_MENTIONS:
        found.append(f"{mentions} lines of the core name a feature, at most {MOST_MENTIONS}")
    return found


def get_rate(counted: Counter[str], kind: str) -> float:
    """Give a number per 1,000 lines of code."""
    return 1000 * counted[kind] / max(counted["code lines"], 1)


def draw(report: Report) -> Iterator[str]:
    """Draw the tables, line by line."""
    head = "".join(f"{each:>16}" for each in (*RATES, *NUMBERS, "comments %"))
    yield f"{'':10}{'code lines':>11}{'tokens':>9}{head}"
    for folder, counted in report.folders.items():
        rates = "".join(f"{get_rate(counted, each):16.1f}" for each in RATES)
        numbers = "".join(f"{counted[each]:16}" for each in NUMBERS)
        comments = get_rate(counted, "comments") / 10
        size = f"{counted['code lines']:11,}{counted['tokens']:9,}"
        yield f"{folder:10}{size}{rates}{numbers}{comments:16.2f}"
    yield ""
    yield f"{'rooms of the runtime':28}{'modules':>8}{'tokens':>9}{'code lines':>11}"
    ordered = sorted(report.rooms.items(), key=lambda each: -each[1]["tokens"])
    for room, counted in ordered:
        size = f"{counted['modules']:8}{counted['tokens']:9,}{counted['code lines']:11,}"
        yield f"{room:28}{size}{'  core' if room in CORE else ''}"
    core = sum(counted["tokens"] for room, counted in ordered if room in CORE)
    whole = sum(counted["tokens"] for _, counted in ordered)
    yield f"the core has {core:,} of {whole:,} tokens, {100 * core / whole:.0f} %"
    yield ""
    yield "lines of the core that name a feature"
    for feature, number in report.mentions.most_common():
        yield f"{number:6} {feature}"
    yield f"{report.mentions.total():6} of at most {MOST_MENTIONS}"


def main() -> int:
    """Print the places or the tables, and what is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--details", default="", metavar="WHAT", help="print the places of this")
    options = parser.parse_args()
    report = measure(options.details)
    lines = report.places if options.details else list(draw(report))
    excess = find_excess(report)
    sys.stdout.write("\n".join([*lines, *excess, ""]))
    return int(bool(excess))


if __name__ == "__main__":
    sys.exit(main())
