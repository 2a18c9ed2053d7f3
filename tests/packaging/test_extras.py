"""Extras of the wheel: each alone brings what it promises, and a message about a missing one names
it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from installed_alone import InstalledAlone, install_alone, is_content
from wheel import ROOT

pytestmark = [pytest.mark.peer, pytest.mark.slow]

MAX_BASE_PACKAGES = 8
MAX_BASE_BYTES = 31_000_000

APP = """
from a2a_runtime import Agent, create_app
agent = Agent("a")
agent.add("echo", lambda ctx: ctx.text)
app = create_app(agent, store="memory")
"""
PROMISES = {
    "": (
        "import a2a_contract.v1_0, a2a_contract.v0_3, a2a_gen.diff.run, a2a_runtime.agent, "
        "a2a_runtime.skills, a2a_runtime.stores.sqlite"
    ),
    "client": "import a2a_runtime.client, a2a_runtime.client.typed, a2a_runtime.cli.call, "
    "a2a_runtime.cli.stream\n"
    "import a2a_runtime.cli.tasks, a2a_runtime.cli.terminal.card; assert "
    "'litestar' not in __import__('sys').modules",
    "litestar": f"{APP}\nfrom a2a_runtime import A2APlugin\nimport a2a_runtime.starlette",
    "starlette": "import a2a_runtime.starlette, starlette.applications",
    "serve": f"{APP}\nimport a2a_runtime.cli.serve",
    "build": (
        "import yaml, a2a_gen.commands.build, a2a_gen.commands.check, a2a_gen.commands.client, "
        "a2a_gen.commands.dev\n"
        "from importlib.util import find_spec; from a2a_gen.commands.cli import BUILD_PACKAGES; "
        "assert all(map(find_spec, BUILD_PACKAGES))"
    ),
    "auth": "from a2a_runtime.auth import JwksKeys, JwtAuthenticator, keys_from_pem\n"
    "import a2a_runtime.cli.card, a2a_runtime.features.push.verification\nfrom "
    "a2a_runtime.features.keys import card_signatures, secret_box, webhook_signatures",
    "postgres": (
        "from a2a_runtime.stores.factory import create_store; "
        "create_store('postgresql://user@host/name')"
    ),
    "workers": "import a2a_runtime.cli.worker, psycopg; assert psycopg.pq.__impl__ == 'binary'",
    "metrics": (
        "from a2a_runtime.features.telemetry.metrics import Metrics; import "
        "prometheus_client.exposition; Metrics()"
    ),
    "otel": "from a2a_runtime.features.telemetry.tracing import Tracing; Tracing()",
    "grpc": (
        "import grpc; from a2a_runtime.features.grpc.messages import message_pool; message_pool()"
    ),
    "pydantic-ai": "import pydantic_ai, a2a_runtime.features.pydantic_ai",
    "mcp": f"{APP}\nfrom a2a_runtime.features.mcp import McpSource; McpSource('node server.js')",
    "apcore": (
        "import apcore, a2a_runtime.features.apcore.server, a2a_runtime.features.apcore.watch"
    ),
    "all": (
        f"{APP}\nimport a2a_runtime.cli.card, a2a_runtime.cli.serve, "
        "a2a_gen.commands.build, grpc, asyncpg"
    ),
}
"""By extra: a program that runs with nothing else installed. The empty name is the base."""

BaseFactory = Callable[[str], InstalledAlone]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as packed:
        packed.extractall(folder / "content")
    return folder / "content"


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> InstalledAlone:
    """The wheel without extras."""
    return install_alone(wheel, (), tmp_path_factory.mktemp("base"))


def test_every_extra_has_a_promise() -> None:
    """An extra that is added to the project is added to the table of promises, and to the page of
    dependencies.
    """
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert {"", *extras} == PROMISES.keys()
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert [extra for extra in extras if f"| `[{extra}]` |" not in page] == []


def test_the_base_is_small(base: InstalledAlone) -> None:
    """At most eight packages and 31 MB are installed with it, without the bytecode that some
    installers compile.
    """
    assert len(base.dependencies) <= MAX_BASE_PACKAGES, sorted(base.dependencies)
    own = (
        file
        for name in ("a2a_contract", "a2a_gen", "a2a_runtime")
        for file in (base.site / name).rglob("*")
        if is_content(file)
    )
    assert base.dependency_bytes + sum(file.stat().st_size for file in own) <= MAX_BASE_BYTES


@pytest.mark.parametrize("extra", PROMISES)
def test_an_extra_alone_brings_what_it_promises(wheel: Path, tmp_path: Path, extra: str) -> None:
    """With the wheel and this extra, and nothing else, its program runs."""
    done = install_alone(wheel, (extra,) if extra else (), tmp_path).run(PROMISES[extra])
    assert (done.returncode, done.stderr) == (0, "")


def test_the_base_lints_and_compares(base: InstalledAlone, tmp_path: Path) -> None:
    """Schemas are checked and compared without any extra."""
    for name in ("old", "new"):
        shutil.copytree(ROOT / "tests/cases/smallest/input", tmp_path / name)
    linted = base.run_command("lint", cwd=tmp_path / "old")
    assert (linted.returncode, linted.stderr) == (0, "")
    assert base.run_command("diff", "old/schema", "new/schema", cwd=tmp_path).returncode == 0
    schema = tmp_path / "new" / "schema" / "v1_0" / "task.json"
    schema.write_text(
        schema.read_text().replace(
            '"required": ["id", "state"]', '"required": ["id", "metadata", "state"]'
        )
    )
    broken = base.run_command("diff", "old/schema", "new/schema", cwd=tmp_path)
    assert broken.returncode == 1, broken.stderr


MISSING = {
    ("build",): "build",
    ("check",): "build",
    ("client", "https://agent.example", "-o", "client"): "build",
    ("serve", "app:app"): "serve",
    ("worker", "app:app"): "workers",
    ("card", "keygen", "card.pem"): "auth",
    ("db", "upgrade", "--store", "postgresql://user@host/name"): "postgres",
    ("diff", "--against", "https://agent.example"): "client",
}
"""By command that the base cannot run: the extra that it names."""


@pytest.mark.parametrize("words", MISSING)
def test_a_command_names_the_extra_that_it_misses(
    base: InstalledAlone, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """One message with the install command, and no traceback."""
    shutil.copytree(ROOT / "tests/cases/smallest/input", tmp_path / "project")
    done = base.run_command(*words, cwd=tmp_path / "project")
    assert f"pip install 'a2a-gen[{MISSING[words]}]'" in done.stderr
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr


IMPORTS = {
    "from a2a_runtime import create_app": "litestar",
    "from a2a_runtime.plugin import A2APlugin": "litestar",
    "from a2a_runtime.starlette import mount_agents": "litestar",
    "from a2a_runtime.client import A2AClient": "client",
    "from a2a_runtime.client.typed import SkillClient": "client",
    "from a2a_runtime.auth import JwtAuthenticator": "auth",
    "from a2a_runtime.auth import JwksKeys": "auth",
    "from a2a_runtime.features.mcp.source.source import McpSource": "mcp",
    (
        "from a2a_runtime.stores.factory import create_store; "
        "create_store('postgresql://user@host/name')"
    ): "postgres",
}
"""By statement that fails in the base: the extra that its error names."""


@pytest.mark.parametrize("statement", IMPORTS)
def test_an_import_names_the_extra_that_it_misses(base: InstalledAlone, statement: str) -> None:
    """The error of an import is still an ImportError, with the install command."""
    done = base.run(f"try:\n    {statement}\nexcept ImportError as error:\n    print(error)")
    assert f"pip install 'a2a-gen[{IMPORTS[statement]}]'" in done.stdout, done.stderr
