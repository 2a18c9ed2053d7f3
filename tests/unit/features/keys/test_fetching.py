"""Documents of issuers, over real sockets."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from threads import serve_in_thread

from a2a_runtime.features.keys.jwks import DocumentFetchError, fetch_document

pytestmark = pytest.mark.anyio


class DocumentServer(ThreadingHTTPServer):
    """Answers every request; ``requests`` are their paths and headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = b'{"keys": []}'
        self.encoding = ""
        self.requests: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        """The URL of the document."""
        return f"http://localhost:{self.server_port}/keys"


class _Handler(BaseHTTPRequestHandler):
    server: DocumentServer

    def do_GET(self) -> None:
        """Answer a request."""
        self.server.requests.append(
            (self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        self.send_response(200)
        self.send_header("content-length", str(len(self.server.body)))
        if self.server.encoding:
            self.send_header("content-encoding", self.server.encoding)
        self.end_headers()
        self.wfile.write(self.server.body)

    # The base class names the parameter.
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


@pytest.fixture
def host() -> Iterator[DocumentServer]:
    """An issuer on this machine."""
    with serve_in_thread(DocumentServer()) as server:
        yield server


@pytest.fixture
def proxy() -> Iterator[DocumentServer]:
    """A proxy that the environment names."""
    with serve_in_thread(DocumentServer()) as server:
        yield server


async def test_no_proxy_is_used_for_this_machine(
    host: DocumentServer, proxy: DocumentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy could replace keys that are fetched without TLS."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert await fetch_document(host.url) == host.body
    assert proxy.requests == []


@pytest.mark.parametrize("packing", ["gzip", "br", "x"])
async def test_compressed_documents_are_rejected(host: DocumentServer, packing: str) -> None:
    """A small response could expand to a large one."""
    host.body = gzip.compress(b"0" * 5_000_000)
    host.encoding = packing
    with pytest.raises(DocumentFetchError, match="compressed"):
        await fetch_document(host.url)
    assert host.requests[0][1]["accept-encoding"] == "identity"


async def test_large_documents_are_rejected(host: DocumentServer) -> None:
    """A document above the limit is an error, whatever its content."""
    host.body = b" " * 2_000_000
    with pytest.raises(DocumentFetchError, match="too large"):
        await fetch_document(host.url)


async def test_netrc_is_not_read(
    host: DocumentServer, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its passwords are not sent to the host."""
    netrc = tmp_path_factory.mktemp("home") / ".netrc"
    netrc.write_text("default login me password hush\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(netrc.parent))
    await fetch_document(host.url)
    assert "authorization" not in host.requests[0][1]
