"""What typed skills cost: checking an input, building an agent with a hundred of them, starting it,
and making its card.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Iterator
from pathlib import Path

# The example is no package of this environment.
sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "report" / "src"))

from pydantic import TypeAdapter
from report_agent.contract import Report, skills
from table import Row, measure, show

from a2a_contract.v1_0 import Message, Part, Role

ROOT = Path(__file__).parents[1]
COMMAND = [str(Path(sys.executable).with_name("a2a-gen")), "build"]
SKILLS = 100
ROUNDS = 15
START = """
import sys, time
sys.path.insert(0, ".")
start = time.perf_counter()
from hundred import make_surfaces, service
from a2a_runtime.app import create_app
names = [name for name in vars(service.HundredService) if name.startswith("skill_")]
handlers = {name: (lambda self, request, ctx: None) for name in names}
surfaces = make_surfaces(type("Made", (service.HundredService,), handlers)())
app = create_app(*surfaces)
started = time.perf_counter() - start
from a2a_runtime.service.cards.cache import Cards
start = time.perf_counter()
body = Cards(surfaces[0]).get("v1_0", "http://localhost").body
print(started, time.perf_counter() - start, len(body))
"""


def report(size: int) -> dict[str, object]:
    """Make an input of about some bytes."""
    chapters: list[dict[str, str]] = []
    while len(json.dumps(chapters)) < size:
        chapters.append(
            {
                "title": f"Chapter {len(chapters)}",
                "text": "All that there is to say about this. " * 3,
            }
        )
    return {"title": "A report", "chapters": chapters}


def boundary() -> None:
    """Compare reading an input at the boundary with making its model, and nothing else."""
    data = report(5000)
    message = Message(message_id="m", role=Role.USER, parts=[Part(data=data)])
    model = TypeAdapter(Report)
    contract = skills.PUBLISH
    alone: list[float] = []
    whole: list[float] = []
    for _ in range(ROUNDS):  # one after the other, so that both meet the same machine
        alone.append(timeit.timeit(lambda: model.validate_python(data), number=2000) / 2000)
        whole.append(timeit.timeit(lambda: contract.parse_input(message), number=2000) / 2000)
    ratio = statistics.median(each / other for each, other in zip(whole, alone, strict=True))
    print(f"\nan input of {len(json.dumps(data))} bytes")
    print(f"{'made into its model':52} {statistics.median(alone) * 1e6:8.1f} µs")
    print(
        f"{'read at the boundary: schema, then model':52} "
        f"{statistics.median(whole) * 1e6:8.1f} µs   {ratio:.2f} times, goal 1.5"
    )


def write_project(folder: Path) -> None:
    """Write an agent with a hundred skills, each with schemas of its own."""
    head = (
        '[agent]\nname = "hundred"\ndescription = "Does a hundred things."\nversion = '
        '"1.0.0"\n\n[outputs]\npackage = "hundred"\n'
    )
    text = [head]
    (folder / "schema").mkdir()
    for number in range(SKILLS):
        schema = {
            "$defs": {
                f"Request{number}": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1},
                        "items": {"type": "array", "items": {"$ref": f"#/$defs/Item{number}"}},
                    },
                    "required": ["name"],
                },
                f"Item{number}": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                    },
                },
                f"Answer{number}": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
            }
        }
        file = f"schema/skill{number}.json"
        (folder / file).write_text(json.dumps(schema))
        text.append(f'\n[skills.skill-{number}]\ndescription = "Does thing {number}."\n')
        text.append(
            f'input = "{file}#/$defs/Request{number}"\noutput = "{file}#/$defs/Answer{number}"\n'
        )
    (folder / "a2a.toml").write_text("".join(text))


def builds(folder: Path) -> Iterator[Row]:
    """Time builds of the hundred."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def build() -> None:
        subprocess.run(COMMAND, cwd=folder, check=True, env=environment)

    def forget() -> None:
        shutil.rmtree(folder / "hundred", ignore_errors=True)
        (folder / "a2a-gen.lock").unlink(missing_ok=True)

    yield measure("build from nothing", build, rounds=3, goal=5.0, before=forget)
    yield measure("build with nothing to do", build, rounds=9, goal=0.2)
    yield from starts(folder)


def starts(folder: Path) -> Iterator[Row]:
    """Time the start of the agent, and its card, in fresh interpreters."""
    found: list[tuple[float, float]] = []
    for _ in range(5):
        said = subprocess.run(
            [sys.executable, "-c", START], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.split()
        found.append((float(said[0]), float(said[1])))
    yield Row("start: import, mount, app", tuple(each for each, _ in found), 2.0)
    yield Row("make the card, schemas read", tuple(each for _, each in found), 0.1)


def main() -> None:
    """Print the tables."""
    boundary()
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder))
        show(f"an agent with {SKILLS} skills", builds(Path(folder)))


if __name__ == "__main__":
    main()
