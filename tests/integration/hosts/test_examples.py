"""The applications of ``examples/hosts``: each in a process of its own, with its users, its
database and its routes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from integration.hosts.users import check_users_are_apart
from litestar.security.jwt import JWTAuth

FOLDER = Path(__file__).parents[3] / "examples" / "hosts"
SERVER = """
import socket, sys, uvicorn
sys.path.insert(0, ".")
module = __import__(sys.argv[1])
getattr(module, "prepare", lambda: None)()
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(module.app, log_level="error", proxy_headers=False)).run([listening])
"""
SECRET = "another secret of 32 characters."  # noqa: S105 - of a test


@contextmanager
def serve(module: str, database: Path) -> Iterator[httpx.Client]:
    """Serve an example in a process of its own, because Django has one configuration for a
    process.
    """
    environment = {**os.environ, "TOKEN_SECRET": SECRET, "DATABASE": str(database)}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, module],
        cwd=FOLDER,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, f"{module} did not start"
        transport = httpx.HTTPTransport(retries=20)
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                transport=transport,
                timeout=30,
                trust_env=False,
            ) as client:
                yield client
        finally:
            process.terminate()
            process.wait(20)


def log_in(module: str, client: httpx.Client, name: str) -> Mapping[str, str]:
    """Get the headers with which a user of an example is authenticated."""
    match module:
        case "litestar_app":
            auth = JWTAuth[str](
                retrieve_user_handler=lambda _token, _connection: "", token_secret=SECRET
            )
            return {"authorization": f"Bearer {auth.create_token(name)}"}
        case "django_app":
            response = client.get(f"/login/{name}")
            client.cookies.clear()
            return {"cookie": f"sessionid={response.cookies['sessionid']}"}
        case _:
            return {"authorization": f"Bearer token-of-{name}"}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["litestar_app", "fastapi_app", "starlette_app", "django_app"])
def test_an_example_keeps_its_users_apart(module: str, tmp_path: Path) -> None:
    """Tasks belong to the users of the application; its own routes work, and call the agent
    themselves.
    """
    with serve(module, tmp_path / "users.db") as client:
        headers = {name: log_in(module, client, name) for name in ("ada", "bob")}
        check_users_are_apart(client, headers, has_mesh=False)
        assert client.get("/me", headers=headers["ada"]).json() == {"reports": 4}
        assert client.get("/me", headers=headers["bob"]).json() == {"reports": 0}
        assert client.get("/me").status_code == 401
        assert client.get("/nothing", headers=headers["ada"]).status_code == 404
        task = client.post("/agent/message:send", json=_message(), headers=headers["bob"]).json()[
            "task"
        ]
        assert "bob has sold 3 books." in str(task["artifacts"])
        card = client.get("/agent/.well-known/agent-card.json", headers=headers["ada"]).json()
        assert card["supportedInterfaces"][0]["url"] == f"{client.base_url}/agent"
        page = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
        assert (
            client.post(
                "/agent/message:send", json=_message(), headers={**headers["ada"], **page}
            ).status_code
            == 403
        )


def _message() -> Mapping[str, object]:
    return {"message": {"messageId": "m-9", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
