"""Documents of issuers, over real sockets."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from threads import running

from a2a_runtime.auth.jwks import DocumentFetchError, fetch_document

pytestmark = pytest.mark.anyio


class DocumentServer(ThreadingHTTPServer):
    """Answers whatever it is asked; ``asked`` are the first lines and the headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body, self.encoding = b'{"keys": []}', ""
        self.requests: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://localhost:{self.server_port}/keys"


class _Handler(BaseHTTPRequestHandler):
    server: DocumentServer

    def do_GET(self) -> None:
        """Answer."""
        self.server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.send_response(200)
        self.send_header("content-length", str(len(self.server.body)))
        if self.server.encoding:
            self.send_header("content-encoding", self.server.encoding)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[DocumentServer]:
    """An issuer on this machine."""
    with running(DocumentServer()) as server:
        yield server


@pytest.fixture
def proxy() -> Iterator[DocumentServer]:
    """Somebody whom the environment names as a proxy."""
    with running(DocumentServer()) as server:
        yield server


async def test_no_proxy_tells_us_what_is_on_this_machine(host: DocumentServer, proxy: DocumentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs a proxy would choose the keys: what is read without TLS comes from here and from nobody else."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert await fetch_document(host.url) == host.body
    assert proxy.requests == []


@pytest.mark.parametrize("packing", ["gzip", "br", "x"])
async def test_nothing_is_unpacked(host: DocumentServer, packing: str) -> None:
    """A small answer may be a large one; we ask for none of that kind, and take none."""
    host.body, host.encoding = gzip.compress(b"0" * 5_000_000), packing
    with pytest.raises(DocumentFetchError, match="compressed"):
        await fetch_document(host.url)
    assert host.requests[0][1]["accept-encoding"] == "identity"


async def test_too_much_is_not_read(host: DocumentServer) -> None:
    """However it is written."""
    host.body = b" " * 2_000_000
    with pytest.raises(DocumentFetchError, match="too large"):
        await fetch_document(host.url)


async def test_files_of_passwords_are_not_read(
    host: DocumentServer, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a netrc has for a host is not told to it."""
    netrc = tmp_path_factory.mktemp("home") / ".netrc"
    netrc.write_text("default login me password hush\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(netrc.parent))
    await fetch_document(host.url)
    assert "authorization" not in host.requests[0][1]
