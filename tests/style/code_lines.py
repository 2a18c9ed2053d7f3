"""Hand-written lines of code per package of the runtime: without blank lines, comments and
docstrings.

Run as a script it prints the table and exits with 1 above the limit; `make check` does.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "runtime" / "a2a_runtime"
LIMIT = 24_982
"""The most lines of code that the runtime may have, without ``testing``.

A new feature raises it by its own lines; anything else lowers it.
"""

GRPC = "grpc"
OWN_LIMITS = {GRPC: 766, "workers": 333, "sources": 260, "bridges": 3_175, "explorer": 1_900}
"""The same for packages that are counted apart, because only apps that use them load them; gRPC
with the module of its messages.
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


def count_code_lines(text: str) -> int:
    """Count the lines that hold a token of code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstring_lines(ast.parse(text)))


def docstring_lines(tree: ast.Module) -> set[int]:
    """Find the lines of docstrings, those of attributes too."""
    statements = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    return {
        line
        for node in statements
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in lines_of(node)
    }


def lines_of(node: ast.Expr) -> range:
    """Name the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def count_packages() -> Counter[str]:
    """Count the code lines of each package, and of the modules at the top together."""
    counts: Counter[str] = Counter()
    for path in sorted(RUNTIME.rglob("*.py")):
        parts = path.relative_to(RUNTIME).parts
        package = (
            GRPC
            if parts[-1] in {"protobuf.py", "grpc.py"}
            else parts[0]
            if len(parts) > 1
            else "(top level)"
        )
        counts[package] += count_code_lines(path.read_text(encoding="utf-8"))
    return counts


def main() -> int:
    """Print the table."""
    counts = count_packages()
    total = sum(
        lines for package, lines in counts.items() if package not in {"testing", *OWN_LIMITS}
    )
    for package, lines in counts.most_common():
        print(f"{lines:6,} {package}")  # noqa: T201 - the table is what the script is for
    for package, most in OWN_LIMITS.items():
        print(f"{counts[package]:6,} of at most {most:,} in {package}")  # noqa: T201 - as above
    print(f"{total:6,} of at most {LIMIT:,}, without testing and {', '.join(OWN_LIMITS)}")  # noqa: T201 - as above
    return int(total > LIMIT or any(counts[package] > most for package, most in OWN_LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
