"""How long `a2a-gen build` takes on this repository's whole contract, on many skills and on a
schema of 2 MB, and what importing its output costs.

Every build is a process of its own, as on the command line, in a copy of the project.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from large_schemas import find_vega_lite
from table import Row, measure, show

ROOT = Path(__file__).parents[1]
COMMAND = [str(Path(sys.executable).with_name("a2a-gen")), "build"]
SKILLS = 500
PARTS = ("pyproject.toml", "a2a-gen.lock", "schema", "generated")
IMPORT = """
import time, pydantic
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
class Warm(BaseModel):
    x: int = 0
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def copy_project(folder: Path) -> None:
    """Copy what a build reads and writes."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(
                source, folder / part, ignore=shutil.ignore_patterns("examples", "__pycache__")
            )
        else:
            shutil.copy(source, folder / part)


def builds(project: Path) -> Iterator[Row]:
    """Time builds that find nothing, everything, and one edit to do."""
    edits = iter(range(1000))
    edited = project / "schema" / "v1_0" / "task.json"
    original = edited.read_text()

    def build() -> None:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run(COMMAND, cwd=project, check=True, env=environment, capture_output=True)

    def forget() -> None:
        shutil.rmtree(project / "generated")
        (project / "a2a-gen.lock").unlink()

    def edit() -> None:
        edited.write_text(
            original.replace('"description": "', f'"description": "Edit {next(edits)}. ', 1)
        )

    build()
    bare = measure(
        "a bare interpreter",
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        rounds=15,
    )
    idle = measure("nothing to do", build, rounds=15, goal=0.15)
    times = statistics.median(idle.seconds) / statistics.median(bare.seconds)
    yield from (bare, replace(idle, what=f"nothing to do, {times:.1f} times a bare interpreter"))
    yield measure("from nothing", build, rounds=5, goal=1.5, before=forget)
    yield measure("after one edit of a schema", build, rounds=5, goal=1.0, before=edit)


def write_skills(project: Path) -> None:
    """Write an agent with many skills, each with a schema and a union that only its values
    decide.
    """
    tables = [
        (
            '[agent]\nname = "Many"\ndescription = "Many skills."\nversion = '
            '"1"\n[outputs]\npackage = "many"\n'
        )
    ]
    (project / "schemas").mkdir()
    for number in range(SKILLS):
        branches = [
            {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
            for name in ("a", "b")
        ]
        members = {
            "id": {"type": "integer"},
            "choice": {"anyOf": branches},
            "at": {"type": "string", "format": "date-time"},
        }
        schema = {
            "type": "object",
            "description": f"Skill {number}.",
            "properties": members,
            "required": ["id"],
        }
        (project / "schemas" / f"skill{number}.json").write_text(json.dumps(schema))
        tables.append(
            f'[skills.skill-{number}]\ndescription = "A skill."\ninput = '
            f'"schemas/skill{number}.json"\n'
        )
    (project / "a2a.toml").write_text("\n".join(tables))


def build_skills(project: Path) -> Iterator[Row]:
    """Time builds of many skills: from nothing, and after one edit."""
    write_skills(project)
    edits = iter(range(1000))

    def build() -> None:
        subprocess.run(COMMAND, cwd=project, check=True, capture_output=True)

    def edit() -> None:
        file = project / "schemas" / "skill7.json"
        schema = json.loads(file.read_text())
        file.write_text(json.dumps({**schema, "description": f"Edit {next(edits)}."}))

    yield measure("from nothing", build, rounds=1)
    yield measure("after one edit of a schema", build, rounds=3, goal=2.0, before=edit)


def build_large(project: Path) -> Iterator[Row]:
    """Time builds of models from one schema of 2 MB: from nothing, with nothing to do, and after an
    edit.
    """
    file = project / "schemas" / "vega-lite.json"
    file.parent.mkdir()
    text = find_vega_lite()[0].read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    (project / "a2a-gen.toml").write_text('schema = "schemas"\npackage = "charts"\n')
    edits = iter(range(1000))

    def build() -> None:
        subprocess.run(COMMAND, cwd=project, check=True, capture_output=True)

    def edit() -> None:
        file.write_text(
            text.replace('"description": "', f'"description": "Edit {next(edits)}. ', 1),
            encoding="utf-8",
        )

    yield measure("from nothing", build, rounds=1, goal=60)
    yield measure("nothing to do", build, rounds=5, goal=0.15)
    yield measure("after one edit of the schema", build, rounds=1, goal=60, before=edit)


def imports(module: str) -> Row:
    """Time the import of a module in fresh interpreters that have Pydantic already."""
    program = IMPORT.format(module=module)
    seconds = [
        float(
            subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(9)
    ]
    return Row(f"import {module}", tuple(seconds), 0.04 if module == "a2a_contract.v1_0" else None)


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        copy_project(Path(folder))
        show("a2a-gen build, whole contract", builds(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        show(f"a2a-gen build, {SKILLS} skills", build_skills(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        show(
            f"a2a-gen build, vega-lite, {find_vega_lite()[0].stat().st_size / 1e6:.1f} MB",
            build_large(Path(folder)),
        )
    modules = ("v1_0", "v0_3", "v0_3_proto", "mesh")
    show("import on top of Pydantic", (imports(f"a2a_contract.{module}") for module in modules))


if __name__ == "__main__":
    main()
