"""Duration of the breaking-change check: two versions of a real contract and of vega-lite, the
whole command, and very many definitions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from large_schemas import find_vega_lite
from table import Row, measure, show

from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.sides import build_side

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "tests" / "unit" / "diff" / "history"
COMMAND = [str(Path(sys.executable).with_name("a2a-gen")), "diff"]
MANY = 2000


def versions(old: str, new: str) -> Report:
    """Compare two versions of the contract, from their bytes to the findings with their
    witnesses.
    """
    sides = (
        build_side({"a2a.json": (HISTORY / f"{name}.json").read_bytes()}, label=name, is_plain=True)
        for name in (old, new)
    )
    return compare(*sides, CompareOptions("WIRE"))


def many(kind: str) -> bytes:
    """Write very many definitions that refer to each other; every tenth has a member of some
    kind.
    """
    properties = (
        {
            "next": {"$ref": f"#/$defs/T{(index + 1) % MANY}"},
            "value": {"type": kind if index % 10 == 0 else "string"},
        }
        for index in range(MANY)
    )
    return json.dumps(
        {
            "$defs": {
                f"T{index}": {"type": "object", "properties": each}
                for index, each in enumerate(properties)
            }
        },
        indent=1,
    ).encode()


def rows(folder: Path) -> Iterator[Row]:
    """Time comparisons in this process, then the command."""
    for old, new in (("0.2.1", "0.2.5"), ("0.2.5", "0.2.6"), ("0.2.6", "0.3.0")):
        found = versions(old, new)
        count = len(json.loads((HISTORY / f"{new}.json").read_bytes())["definitions"])
        what = f"A2A {old} to {new}, {count} definitions, {len(found.findings)} findings"
        yield measure(what, lambda old=old, new=new: versions(old, new), rounds=9, goal=0.1)
    files = [folder / "old.json", folder / "new.json"]
    for file, kind in zip(files, ("integer", "number"), strict=True):
        file.write_bytes(many(kind))
    texts = [file.read_bytes() for file in files]
    yield measure(
        f"{MANY} definitions, a tenth changed",
        lambda: compare(
            *(build_side({"a.json": text}, label="") for text in texts), CompareOptions("WIRE")
        ),
        rounds=3,
        goal=3,
    )
    real = [str(HISTORY / f"{name}.json") for name in ("0.2.6", "0.3.0")]
    yield measure(
        "the command, A2A 0.2.6 to 0.3.0", lambda: run(*real, "--plain"), rounds=9, goal=0.4
    )
    yield measure(
        "the command, this contract against HEAD",
        lambda: run("--against", "HEAD"),
        rounds=9,
        goal=0.4,
    )
    yield measure(
        f"the command, {MANY} definitions",
        lambda: run(*map(str, files), "--plain"),
        rounds=3,
        goal=3,
    )
    large = list(map(str, find_vega_lite()))
    yield measure(
        "the command, vega-lite 6.4.1 to 6.5.0, 1.9 MB",
        lambda: run(*large, "--plain"),
        rounds=3,
        goal=10,
    )


def run(*words: str) -> None:
    """Run the command; findings are no failure here."""
    done = subprocess.run(
        [*COMMAND, *words, "--fail-on", "none"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        show("a2a-gen diff", rows(Path(temporary)))
