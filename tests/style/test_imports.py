"""Imports: what a package loads, and the names of the package root."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from style.density import CORE, name_room
from style.source_files import Source, sources

import a2a_runtime

FEATURES_AND_CLIENTS = re.compile(r"a2a_runtime\.(features|client|local|cli)(\.|$)")

HEAVY = frozenset(
    (
        "asyncpg",
        "cryptography",
        "google.protobuf",
        "grpc",
        "httpx",
        "jinja2",
        "jwt",
        "litestar",
        "procrastinate",
        "psycopg",
    )
)
"""Packages that are loaded only where they are used: optional, or slow to import."""

IMPORTS = {
    "a2a_runtime": (3, frozenset[str]()),
    "a2a_runtime.client": (36, frozenset({"httpx"})),
    "a2a_runtime.plugin": (118, frozenset({"litestar"})),
    "a2a_runtime.surface": (63, frozenset[str]()),
}
"""By module: the most modules of the runtime that importing it may load, and the heavy packages
that it may load.
"""


@pytest.mark.parametrize("module", IMPORTS)
def test_importing_a_module_loads_little(module: str) -> None:
    """Importing a module loads no more modules of the runtime than it does today, and no heavy
    package without need.
    """
    most, allowed = IMPORTS[module]
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert {name for name in loaded if name in HEAVY} == allowed
    assert len([name for name in loaded if name.partition(".")[0] == "a2a_runtime"]) <= most


APP = """
import sys
from a2a_runtime import Agent, create_app
from litestar.testing import TestClient
agent = Agent("plain")
agent.add("echo", lambda ctx: ctx.text)
with TestClient(create_app(agent, store={store!r})) as client:
    assert client.get("/tasks").status_code == 200
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("store", "used"),
    [("memory", "memory"), ("sqlite:///tasks.db", "sqlite")],
    ids=["memory", "file"],
)
def test_an_agent_loads_the_store_that_it_uses(store: str, used: str, tmp_path: Path) -> None:
    """No other store, and no driver of one."""
    loaded = subprocess.run(
        [sys.executable, "-c", APP.format(store=store)],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout.split()
    stores = {f"a2a_runtime.stores.{each}" for each in ("memory", "sqlite")}
    stores |= {f"a2a_runtime.features.{each}" for each in ("postgres", "simple_stores")}
    assert stores & set(loaded) == {f"a2a_runtime.stores.{used}"}
    assert ("sqlite3" in loaded) == (used == "sqlite")


def test_names_of_the_package_root_are_loaded_on_use() -> None:
    """Every name is there, is listed, and is the same object as in its module; importing the
    package alone loads none of them.
    """
    assert {
        getattr(getattr(a2a_runtime, name), "__name__", name) for name in a2a_runtime.__all__
    } == set(a2a_runtime.__all__)
    assert set(a2a_runtime.__all__) <= set(dir(a2a_runtime))
    assert len(set(a2a_runtime.__all__)) == len(a2a_runtime.__all__)


def test_unknown_names_of_the_package_root_are_attribute_errors() -> None:
    """A misspelled import fails like that of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'Agnet'"):
        a2a_runtime.Agnet  # type: ignore[attr-defined]  # noqa: B018 - reading it is the test


TYPES_OF_FEATURES = {
    "runtime/a2a_runtime/__init__.py": None,
    "runtime/a2a_runtime/app.py": {"GrpcOptions", "MeshConfig"},
    "runtime/a2a_runtime/auth/__init__.py": None,
    "runtime/a2a_runtime/plugin.py": {"GrpcOptions", "MeshConfig"},
}
"""Modules of the core that import names of features for type checkers: the public names of a
package (``None``: any of them), and types of parameters. import-linter does not see them.
"""


def test_the_core_names_types_of_features_only_in_its_own_signatures() -> None:
    """No other module of the core imports a feature, a client or a command, not even for types."""
    found = [
        f"{source}: {name}"
        for source in sources("runtime")
        if name_room(source.path) in CORE
        for name in list_names_of_features(source)
        if not is_allowed(str(source), name)
    ]
    assert found == []


def list_names_of_features(source: Source) -> Iterator[str]:
    """List the names that a module imports from rooms above the core."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and FEATURES_AND_CLIENTS.match(node.module or ""):
            yield from (each.name for each in node.names)


def is_allowed(module: str, name: str) -> bool:
    """Tell whether a module may import a name of a feature for its types."""
    if module not in TYPES_OF_FEATURES:
        return False
    names = TYPES_OF_FEATURES[module]
    return names is None or name in names
