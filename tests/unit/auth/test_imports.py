"""The modules and packages that authentication loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from a2a_runtime import auth

SCRIPT = """
import sys
sys.modules["jwt"] = sys.modules["cryptography"] = None  # as if they were not installed
import a2a_runtime.client, a2a_runtime.client.auth, a2a_runtime.features.project
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, BasicAuthenticator
from a2a_runtime.surface import Surface
from litestar.testing import TestClient
agent = Agent("plain")
agent.add("echo", lambda ctx: ctx.text)
guarded = Surface(agent, gate=AuthGate(ApiKeyAuthenticator({})))
with TestClient(create_app(guarded, Surface(agent, "/open"), store="memory")) as client:
    print(client.get("/tasks").status_code, client.get("/open/tasks").status_code)
"""


def test_the_base_install_needs_no_extra() -> None:
    """Without PyJWT and cryptography, API keys, passwords, the client and the command line work,
    and an app starts.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("401 200", 0), done.stderr


FOUNDATION = """
import sys
import a2a_runtime.auth.gate
others = {"sqlite3", "jwt", "httpx"}
print(*sorted(name for name in sys.modules if name.startswith("a2a_runtime") or name in others))
"""


def test_a_gate_loads_no_store() -> None:
    """Importing the gate loads ten modules of the runtime and no database driver: authentication
    stands below the stores.
    """
    loaded = subprocess.run(
        [sys.executable, "-c", FOUNDATION], capture_output=True, text=True, check=True
    ).stdout.split()
    auth = {f"a2a_runtime.auth{name}" for name in ("", ".authentication", ".gate", ".rate_limit")}
    assert set(loaded) == {
        "a2a_runtime",
        "a2a_runtime.base",
        "a2a_runtime.base.caller",
        "a2a_runtime.base.clock",
        "a2a_runtime.base.counters",
        "a2a_runtime.base.importing",
        *auth,
    }


def test_every_public_name_is_loaded_on_first_use() -> None:
    """The list of public names is sorted and complete, and naming the package alone loads
    nothing.
    """
    script = (
        "import sys, a2a_runtime.auth; print(*sorted(name for name in sys.modules if "
        "name.startswith('a2a_runtime.auth')))"
    )
    assert subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split() == ["a2a_runtime.auth"]
    assert auth.__all__ == sorted(
        auth.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)
    )
    assert all(getattr(auth, name) is not None for name in auth.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Checkpoint'"):
        auth.Checkpoint  # type: ignore[attr-defined]  # noqa: B018 - that is the point
