"""An agent that checks no tokens and signs nothing needs neither PyJWT nor cryptography."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["jwt"] = sys.modules["cryptography"] = None  # as if they were not installed
import a2a_runtime.client, a2a_runtime.client.auth, a2a_runtime.commands.card, a2a_runtime.project
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, BasicAuthenticator
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.surface import Surface
from litestar.testing import TestClient
agent = Agent("plain")
agent.add("echo", lambda ctx: ctx.text)
with TestClient(create_app(Surface(agent, gate=AuthGate(ApiKeyAuthenticator({}))), Surface(agent, "/open"), store="memory")) as client:
    print(client.get("/tasks").status_code, client.get("/open/tasks").status_code)
"""


def test_the_base_install_is_enough_for_the_rest() -> None:
    """API keys, passwords, the client and the command line work, and an app starts."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("401 200", 0), done.stderr
