"""A reverse proxy as a program: it reports the certificate of its client, and who is signed in
there, to the server behind it.

    python reverse_proxy.py UPSTREAM_PORT        prints its own port

In place of TLS, the header ``Test-Certificate`` has the subject of a certificate that the proxy has
verified. What clients send under the names of the proxy's own headers is removed, as documented for
``MtlsAuthenticator``.
"""

from __future__ import annotations

import asyncio
import sys

CERTIFICATE = b"test-certificate"
OWN = (
    b"x-ssl-client-verify",
    b"x-ssl-client-s-dn",
    b"x-forwarded-user",
    b"x-real-ip",
    b"forwarded",
    b"connection",
    CERTIFICATE,
)


def rewrite(head: bytes) -> bytes:
    """Replace the headers of the proxy in the head of a request."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    headers = [
        (name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)
    ]
    subject = dict(headers).get(CERTIFICATE)
    passed = [(name, value) for name, value in headers if name not in OWN]
    passed += [(b"connection", b"close"), (b"x-real-ip", b"192.0.2.7")]
    if subject:
        user = subject.removeprefix(b"CN=")
        passed += [
            (b"x-ssl-client-verify", b"SUCCESS"),
            (b"x-ssl-client-s-dn", subject),
            (b"x-forwarded-user", user),
        ]
    return b"\r\n".join([first, *(b"%b: %b" % each for each in passed), b"", b""])


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until their end."""
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


async def serve(upstream: int) -> None:
    """Serve until the process is stopped; each connection has one request."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", upstream)
        behind_writer.write(rewrite(head))
        body = asyncio.create_task(relay(reader, behind_writer))
        await relay(behind_reader, writer)
        body.cancel()
        writer.close()
        behind_writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
