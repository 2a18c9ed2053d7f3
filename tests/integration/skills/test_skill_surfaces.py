"""Typed skills where they are mounted: on mesh surfaces, from an a2a.toml, and beside skills that
are plain functions.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, nullcontext
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from types import ModuleType

import httpx
import pytest
from imported_modules import forget_packages
from integration.skills.conftest import URL
from litestar.testing import TestClient
from report_agent.contract import make_agent, skills
from report_agent.handlers import ReportAgent
from style.source_files import ROOT

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_gen.entry import main
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import PresenceGate
from a2a_runtime.base.importing import ImportFromStringError
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.project.errors import ConfigError
from a2a_runtime.features.project.loader import ProjectConfigError, load_project
from a2a_runtime.features.project.surfaces import import_callable, parse_dialects
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio


async def test_a_mesh_surface_has_the_schema_and_keeps_to_it() -> None:
    """The card holds the schema of the input; what does not fit is refused, and the plain call is
    there too.
    """
    surface = Surface(
        make_agent(ReportAgent()),
        "/mesh",
        dialects=frozenset((MESH.name,)),
        only=frozenset(("summarize",)),
    )
    async with (
        run_app(create_app(surface, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        card = (await http.get("/mesh/.well-known/agent.json")).json()
        assert card["skills"][0]["metadata"]["input_schema"] == skills.SUMMARIZE.input.schema
        for data, key in (({"text": "One. Two."}, "result"), ({"text": ""}, "error")):
            message = {"role": "user", "parts": [{"type": "data", "data": data}]}
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tasks/send",
                "params": {"id": key, "message": message},
            }
            assert key in (await http.post("/mesh", json=call)).json()
        plain = await http.post("/mesh/skills/summarize", json={"text": "One. Two."})
        assert plain.json() == {"text": "One. Two.", "sentences": 2}


def test_a_project_names_its_service() -> None:
    """The agent of an a2a.toml with a service class is the generated one."""
    (surface,) = load_project(ROOT / "examples" / "report", {}).surfaces
    assert {name: skill.contract is not None for name, skill in surface.skills.items()} == {
        "summarize": True,
        "write-report": True,
        "publish": True,
    }
    assert surface.skills["publish"].asks is True


@pytest.fixture
def typed_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project that was just started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["init", "typed"]) == 0
    monkeypatch.chdir(tmp_path / "typed")
    yield tmp_path / "typed"
    forget_packages("typed")


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was just started, and built."""
    folder = tmp_path_factory.mktemp("built")
    with chdir(folder):
        assert main(["init", "typed"]) == 0
    with chdir(folder / "typed"):
        assert main(["build"]) == 0
    return folder / "typed"


@pytest.fixture
def built_project(
    built_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A copy of it to change."""
    folder = copytree(built_once, tmp_path / "typed")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    forget_packages("typed")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", None),
        (
            "handlers:Typed",
            "handlers:Typo",
            r"a2a.toml:1: service: there is no Typo in typed.handlers \(did you mean Typed\?\)$",
        ),
        (
            "typed.handlers",
            "typed.handler",
            "a2a.toml:1: service: there is no module typed.handler$",
        ),
        (
            "typed.handlers:Typed",
            "typed.contract.service:TypedService",
            "a2a.toml:1: service: .* has no method greet; add it$",
        ),
        (
            "typed.contract",
            "typed.contracts",
            "a2a.toml:16: outputs.package: there is no module typed.contracts; run a2a-gen build$",
        ),
        (
            'service = "typed.handlers:Typed"',
            "",
            "a2a.toml:8: skills.greet: greet: no service and no handler; .*service = ",
        ),
    ],
    ids=["fine", "class", "module", "method", "package", "nobody"],
)
def test_an_unusable_service_is_an_error(
    built_project: Path, old: str, new: str, said: str | None
) -> None:
    """A missing service is named at its use, with the cure; the cure is a build only if the package
    is not built.
    """
    file = built_project / "a2a.toml"
    file.write_text(file.read_text().replace(old, new) if old else file.read_text())
    with nullcontext() if said is None else pytest.raises(ProjectConfigError, match=said):
        load_project(built_project, {})


def test_a_method_of_the_wrong_kind_is_an_error(typed_project: Path) -> None:
    """The error is raised before any call, with the file and the line of the service."""
    handlers = typed_project / "src" / "typed" / "handlers.py"
    handlers.write_text(handlers.read_text().replace("return Greeting", "yield Greeting"))
    assert main(["build"]) == 0
    with pytest.raises(
        ProjectConfigError,
        match=(
            r"a2a.toml:1: service: skill greet: Typed.greet yields, but the skill does not stream"
        ),
    ):
        load_project(typed_project, {})


def test_a_function_is_held_to_the_schemas_of_its_skill(typed_project: Path) -> None:
    """Also where no service class is named: what is on the card is what is refused."""
    file = typed_project / "a2a.toml"
    file.write_text(
        file.read_text()
        .partition("\n")[2]
        .replace("[skills.greet]", '[skills.greet]\nhandler = "typed.words:greet"')
    )
    (typed_project / "src" / "typed" / "words.py").write_text(
        'async def greet(ctx):\n    return {"text": ctx.data["name"]}\n'
    )
    assert main(["build"]) == 0
    with TestClient(
        create_app(
            *load_project(typed_project, {}).surfaces, store="memory", settings=FAST_SETTINGS
        )
    ) as client:
        assert client.post("/skills/greet", json={"name": ""}).status_code == 400
        assert client.post("/skills/greet", json={"name": "Ada"}).json() == {"text": "Ada"}
    file.write_text(file.read_text().partition("[outputs]")[0])
    with pytest.raises(
        ProjectConfigError,
        match=r"skills.greet.input: input needs a generated package; add \[outputs\]",
    ):
        load_project(typed_project, {})


def test_a_stale_package_is_a_warning(
    typed_project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Files edited after the build are listed when the agent starts, because the built ones are
    served; files that are not deployed are not.

    `a2a-gen dev` builds after each edit: its server does not warn of what comes next.
    """
    assert main(["build"]) == 0
    schema = typed_project / "schema" / "greeting.json"
    schema.write_text(schema.read_text().replace('"minLength": 1', '"minLength": 5'))
    load_project(typed_project, {})
    assert (
        "typed.contract is stale: changed since it was built: schema/greeting.json; run "
        "a2a-gen build"
    ) in caplog.text
    caplog.clear()
    server = [sys.executable, "-m", "a2a_gen", "serve", "--check", "--built-by-dev"]
    done = subprocess.run(server, cwd=typed_project, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("ready to serve: typed at /, 1 skill; MemoryStore\n", "")
    schema.unlink()
    load_project(typed_project, {})
    assert caplog.text == ""


PROJECT_ERRORS = [
    (
        '[[surfaces]]\npath = "/"\nskills = ["nope"]',
        "a2a.toml:20 #/surfaces/0/skills: error: unknown skill nope [A2A-K09]",
    ),
    (
        '[[surfaces]]\npath = "/"\nauth = "nope"',
        "a2a.toml:20 #/surfaces/0/auth: error: unknown auth 'nope' [A2A-K09]",
    ),
    (
        '[[surfaces]]\npath = "/x"\n[[surfaces]]\npath = "/x"',
        "a2a.toml:21 #/surfaces/1/path: error: surfaces[0] already has the path /x [A2A-K09]",
    ),
    (
        '[skills.b]\ndescription = "B."\n[[surfaces]]\npath = "/"\nname = "A"',
        "a2a.toml:22 #/surfaces/0/name: error: name describes the only skill",
    ),
    (
        '[skills.b]\ndescription = "B."\n[[surfaces]]\npath = "/"\ndialects = ["mesh"]',
        (
            "a2a.toml:20 #/surfaces/0: error: a mesh surface has exactly one skill, this one has "
            "2 [A2A-K09]"
        ),
    ),
    (
        "[rates.operations]\nSend = { requests = 1, seconds = 1 }",
        "a2a.toml:19 #/rates/operations/Send: error: unknown name",
    ),
]


@pytest.mark.parametrize(
    ("more", "said"), PROJECT_ERRORS, ids=["skill", "auth", "path", "shown as", "mesh", "rates"]
)
def test_a_build_refuses_what_would_not_be_served(
    typed_project: Path, more: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever does not fit together is told by a check as it is when the agent starts: what CI
    takes can be served.
    """
    with (typed_project / "a2a.toml").open("a", encoding="utf-8") as file:
        file.write(f"{more}\n")
    for command in (["build"], ["check"]):
        assert main(command) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(ProjectConfigError):
        load_project(typed_project, {})


def test_skills_without_a_handler_are_warnings(
    typed_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An app may add the handlers, so the package is written; serving it names the missing ones."""
    file = typed_project / "a2a.toml"
    file.write_text(file.read_text().partition("\n")[2])
    assert main(["build"]) == 0
    assert (
        "a2a.toml:7 #/skills/greet: warning: greet: no service and no handler"
        in capsys.readouterr().err
    )


async def test_a_plain_function_may_have_a_contract() -> None:
    """A function that knows nothing of types is called only with input that fits."""

    async def plain(ctx: TaskContext) -> object:
        return ctx.data

    agent = Agent("plain", description="Says the same.")
    agent.add("plain", plain, contract=skills.SUMMARIZE)
    async with (
        run_app(create_app(agent, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        assert (await http.post("/skills/plain", json={"text": "a"})).json() == {"text": "a"}
        assert (await http.post("/skills/plain", json={"text": ""})).status_code == 400


def test_words_of_a_project_are_understood() -> None:
    """Dialects by version or name, and functions by module and name; what is not there is told."""
    assert parse_dialects("1.0", "0.3", "mesh") == {V1_0.name, V0_3.name, MESH.name}
    with pytest.raises(ValueError, match=r"use one of 1\.0, 1\.1-draft, 0\.3, mesh"):
        parse_dialects("2.0")
    assert import_callable("report_agent.handlers:ReportAgent.summarize") is ReportAgent.summarize
    with pytest.raises(ImportFromStringError, match="not callable"):
        import_callable("report_agent.handlers:__doc__")


GUARDED = """
[auth.staff]
kind = "api-keys"
keys = { %s = "nightly-job" }

[limits]
body_bytes = 500

[rates.operations]
SendMessage = { requests = 100, seconds = 1 }

[[surfaces]]
path = "/staff"
dialects = ["1.0"]
auth = "staff"
skill_id = "greet"
description = "For us."
"""


SAID = (
    "path",
    "dialects",
    "limits",
    "only",
    "override",
    "cancel_on_disconnect",
    "deduplicate_messages",
)


@pytest.fixture
def guarded_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The package of a project whose a2a.toml guards its surface with a key."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "guarded"]) == 0
    monkeypatch.chdir(tmp_path / "guarded")
    with Path("a2a.toml").open("a", encoding="utf-8") as file:
        file.write(GUARDED % sha256(b"sesame").hexdigest())
    assert main(["build"]) == 0
    monkeypatch.syspath_prepend(str(tmp_path / "guarded" / "src"))
    yield importlib.import_module("guarded.contract")
    forget_packages("guarded")


async def test_a_generated_package_is_mounted_by_its_project_file(
    guarded_package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The surfaces have the gates of [auth], the limits, the rates and the texts of the file."""
    monkeypatch.chdir("/")
    (surface,) = guarded_package.make_surfaces(
        importlib.import_module("guarded.handlers").Guarded()
    )
    (same,) = load_project(Path(guarded_package.__file__ or "").parents[3], {}).surfaces
    assert [getattr(surface, name) for name in SAID] == [getattr(same, name) for name in SAID]
    assert (surface.limits.body_bytes, surface.override is None, surface.rate_limiter is None) == (
        500,
        False,
        False,
    )
    async with (
        run_app(create_app(surface, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        assert (await http.post("/staff/skills/greet", json={"name": "Ada"})).status_code == 401
        answer = await http.post(
            "/staff/skills/greet", json={"name": "Ada"}, headers={"x-api-key": "sesame"}
        )
        assert answer.json() == {"text": "Hello, Ada!"}


def test_a_package_without_its_file_is_never_open(
    guarded_package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without [auth] no surface is mounted, unless gates are passed; generated files contain no
    gates.
    """
    service = importlib.import_module("guarded.handlers").Guarded()
    Path("a2a.toml").rename("elsewhere.toml")
    monkeypatch.chdir("/")
    with pytest.raises(ValueError, match="pass the gates to make_surfaces"):
        guarded_package.make_surfaces(service)
    with pytest.raises(ConfigError, match="unknown entry 'staff'"):
        guarded_package.make_surfaces(service, {})
    gate = PresenceGate()
    assert guarded_package.make_surfaces(service, {"staff": gate})[0].gate is gate
    assert not [
        file
        for file in Path(guarded_package.__file__ or "").parent.rglob("*.py")
        if "nightly-job" in file.read_text()
    ]


def test_an_error_in_the_project_file_has_its_line(guarded_package: ModuleType) -> None:
    """An invalid gate is reported with file, line and cure."""
    file = Path("a2a.toml")
    file.write_text(file.read_text().replace('kind = "api-keys"', 'kind = "keys"'))
    with pytest.raises(ValueError, match=r"a2a\.toml:\d+: auth\.staff"):
        guarded_package.make_surfaces(importlib.import_module("guarded.handlers").Guarded())
