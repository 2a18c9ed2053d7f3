"""Mutual TLS where the server itself ends TLS: ``a2a-gen serve`` with authorities of client
certificates.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from integration.client.tls_proxy import Authority
from integration.serve_command import run_serve, write_project

from a2a_runtime.testing.ports import find_free_port

TABLES = """
dialects = ["1.0"]
surfaces = [{ path = "/", auth = "machines" }]

[auth.machines]
kind = "mutual-tls"
callers = { "CN=box" = "box" }
"""


@dataclass(frozen=True)
class Served:
    """An agent that admits one certificate."""

    port: int
    authority: Authority

    def get_status(self, context: ssl.SSLContext, **headers: str) -> httpx.Response:
        """List the tasks."""
        return httpx.get(
            f"https://127.0.0.1:{self.port}/tasks",
            headers=headers,
            verify=context,
            trust_env=False,
            timeout=30,
        )


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The agent, served over TLS."""
    folder = tmp_path_factory.mktemp("served")
    authority = Authority.at(folder)
    authority.server()
    write_project(folder, TABLES)
    served = Served(find_free_port(), authority)
    words = (
        "--port",
        str(served.port),
        "--ssl-certfile",
        "server.pem",
        "--ssl-ca-certs",
        "authority.pem",
    )
    with run_serve(
        folder, lambda: served.get_status(authority.client()), httpx.TransportError, *words
    ):
        yield served


@pytest.mark.requirement("0.3", "4.1")
@pytest.mark.requirement("1.0", "7.1")
def test_a_certificate_names_the_caller(tls_server: Served) -> None:
    """A listed one is admitted, another one of the same authority is not, and none is challenged;
    headers of a proxy mean nothing here.
    """
    assert tls_server.get_status(tls_server.authority.client("box")).status_code == httpx.codes.OK
    unknown = tls_server.get_status(tls_server.authority.client("crate"))
    assert (unknown.status_code, "unknown" in unknown.text) == (401, True)
    forged = {"X-SSL-Client-Verify": "SUCCESS", "X-SSL-Client-S-DN": "CN=box"}
    missing = tls_server.get_status(tls_server.authority.client(), **forged)
    assert (missing.status_code, missing.headers["www-authenticate"]) == (401, "Mutual")


def test_a_certificate_of_another_authority_is_no_connection(
    tls_server: Served, tmp_path: Path
) -> None:
    """The handshake fails with a certificate of an unknown authority."""
    context = tls_server.authority.client()
    other = Authority.at(tmp_path)
    other.client("box")
    context.load_cert_chain(tmp_path / "box.pem")
    with pytest.raises(httpx.TransportError):
        tls_server.get_status(context)
