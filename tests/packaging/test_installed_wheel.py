"""A new user with the installed wheel: create a project, build, test, run and call it, and break
its contract.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from peers.environments import interpreter
from wheel import ROOT, InstalledProject, command

SDK = "a2a-sdk-1.3.0"
pytestmark = [pytest.mark.peer, pytest.mark.slow]

CALL = """
import asyncio, importlib, sys
sys.path.insert(0, "src")
package = importlib.import_module(sys.argv[2])

async def main():
    async with package.MyAgentClient(sys.argv[1]) as client:
        print((await client.greet(package.GreetingRequest(name="Ada"))).text)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def project(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> InstalledProject:
    """A project that was just created and built."""
    folder = tmp_path_factory.mktemp("user")
    assert "a2a-gen build" in InstalledProject(bin_folder, folder).gen("init", "my-agent")
    made = InstalledProject(bin_folder, folder / "my-agent")
    made.gen("build")
    return made


def test_nothing_of_the_repository_is_used(project: InstalledProject) -> None:
    """The packages that run are those of the wheel."""
    said = project.python(
        "-c",
        (
            "import a2a_gen, a2a_runtime, a2a_contract as c; print(a2a_gen.__file__, "
            "a2a_runtime.__file__, c.__file__)"
        ),
    )
    assert str(ROOT) not in said
    assert said.count(str(project.commands.parent)) == 3


@pytest.mark.parametrize("template", ["hello", "report", "apcore"])
def test_a_project_is_in_order(bin_folder: Path, tmp_path: Path, template: str) -> None:
    """A new project with any name passes its own checks: types, tests, style, and generated
    files.
    """
    InstalledProject(bin_folder, tmp_path).gen("init", "a-zebra", "--template", template)
    project = InstalledProject(bin_folder, tmp_path / "a-zebra")
    project.gen("build")
    project.gen("check")
    project.gen("lint")
    project.gen("serve", "--check")
    project.python("-m", "pytest", "-q")
    assert "no issues" in project.python("-m", "mypy")
    project.python("-m", "ruff", "check", ".")
    project.python("-m", "ruff", "format", "--check", ".")


def test_a_folder_with_something_in_it_is_left_alone(project: InstalledProject) -> None:
    """Starting over an existing project is refused."""
    assert "not empty" in InstalledProject(project.commands, project.folder.parent).gen(
        "init", "my-agent", code=2
    )


def test_it_is_called_in_four_ways(project: InstalledProject) -> None:
    """curl, the generated client, a client made from the card, and the official SDK all get the
    greeting.
    """
    with project.serving() as url:
        curl = [
            "curl",
            "--silent",
            "--noproxy",
            "*",
            f"{url}/skills/greet",
            "--header",
            "content-type: application/json",
            "--data",
            '{"name": "Ada"}',
        ]
        assert json.loads(command(curl, project.folder)) == {"text": "Hello, Ada!"}
        assert project.python("-c", CALL, url, "my_agent.contract") == "Hello, Ada!\n"
        project.gen("client", url, "-o", "src/remote")
        assert project.python("-c", CALL, url, "remote") == "Hello, Ada!\n"
        project.gen("client", url, "-o", "src/remote", "--check")
        called = [
            str(interpreter(SDK)),
            str(ROOT / "tests" / "peers" / "skill_client.py"),
            url,
            "greet",
            '{"name": "Ada"}',
        ]
        assert json.loads(command(called, project.folder)) == [{"text": "Hello, Ada!"}]


def test_a_breaking_edit_is_noticed_everywhere(project: InstalledProject, tmp_path: Path) -> None:
    """A member that gets another name is stale output, a finding of a2a-gen diff, and after the
    build a mistake in the handler that mypy names.
    """
    schema = project.folder / "schema" / "greeting.json"
    before = schema.read_text()
    shutil.copytree(project.folder, tmp_path / "old")
    try:
        schema.write_text(re.sub(r'"language"', '"tongue"', before))
        assert "stale" in project.gen("check", code=1)
        gate = project.gen("diff", "--against", str(tmp_path / "old"), code=1)
        assert "Not safe to deploy" in gate
        assert "language was removed" in gate
        assert "schema/greeting.json:" in gate
        assert "fix: " in gate
        project.gen("build")
        said = project.python("-m", "mypy", code=1)
        assert "src/my_agent/handlers.py" in said
        assert '"GreetingRequest" has no attribute "language"' in said
    finally:
        schema.write_text(before)
        project.gen("build")


def test_changes_are_served_while_one_works(project: InstalledProject) -> None:
    """`dev` serves what has changed in a schema; what cannot be built is told, what ran before goes
    on, and what mends it is served again.
    """
    schema = project.folder / "schema" / "greeting.json"
    before = schema.read_text()
    body = {"name": "Ada", "language": "fr", "loud": True}
    with project.serving("dev") as url:
        try:
            assert httpx.post(f"{url}/skills/greet", json=body, trust_env=False).status_code == 400
            schema.write_text(before.replace('"type": "string", "minLength": 1', '"type": "text"'))
            assert _in_time(lambda: "not a valid JSON Schema" in project.log)
            assert "schema/greeting.json:8" in project.log
            assert (
                httpx.post(f"{url}/skills/greet", json={"name": "Ada"}, trust_env=False).status_code
                == 200
            )
            schema.write_text(
                before.replace('"language":', '"loud": {"type": "boolean"},\n        "language":')
            )
            assert _in_time(
                lambda: (
                    httpx.post(f"{url}/skills/greet", json=body, trust_env=False).status_code == 200
                )
            )
            built = re.findall(r"built in (\d+\.\d+) s", project.log)
            assert built
            assert re.search(r"POST /skills/greet", project.log)
            schema.write_text(
                before.replace('"minLength": 1', '"minLength": 4')
            )  # changes no line of Python
            assert _in_time(
                lambda: (
                    httpx.post(
                        f"{url}/skills/greet", json={"name": "Ada"}, trust_env=False
                    ).status_code
                    == 400
                )
            )
        finally:
            schema.write_text(before)
    project.gen("build")


def test_code_that_cannot_be_served_leaves_the_old_running(project: InstalledProject) -> None:
    """`dev` says what is wrong with code and goes on with what ran before, until it is mended."""
    handlers = project.folder / "src" / "my_agent" / "handlers.py"
    before = handlers.read_text()

    def greeting() -> str:
        return str(
            httpx.post(f"{url}/skills/greet", json={"name": "Ada"}, trust_env=False).json()["text"]
        )

    with project.serving("dev") as url:
        try:
            handlers.write_text(before.replace("class MyAgent", "clas MyAgent"))
            assert _in_time(lambda: "SyntaxError" in project.log)
            assert _in_time(lambda: "keeps running" in project.log)
            assert greeting() == "Hello, Ada!"
            handlers.write_text(before.replace('"Hello"', '"Hi"'))
            assert _in_time(lambda: greeting() == "Hi, Ada!")
        finally:
            handlers.write_text(before)


def _in_time(holds: Callable[[], bool]) -> bool:
    """Say whether something comes true; a server that starts again is away for a moment."""
    for _ in range(100):
        with suppress(httpx.TransportError):
            if holds():
                return True
        time.sleep(0.1)
    return False
