"""A proxy that ends TLS, checks certificates of clients, and says in headers what it has found:
what stands before an agent with mutual TLS.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_REMOVED_HEADERS = (b"x-ssl-client-verify:", b"x-ssl-client-s-dn:", b"connection:")


@dataclass(frozen=True)
class Authority:
    """Signs certificates, which are kept in a folder."""

    folder: Path
    key: EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def at(cls, folder: Path) -> Authority:
        """Make one."""
        key = generate_private_key(SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        made = _certificate(name, name, key, key, authority=True)
        (folder / "authority.pem").write_bytes(made.public_bytes(Encoding.PEM))
        return cls(folder, key, made)

    def server(self) -> ssl.SSLContext:
        """Make what a server on this machine needs that asks its clients for certificates, and
        takes those that have none too.
        """
        context = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=str(self.folder / "authority.pem")
        )
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_cert_chain(self._issue_certificate("server"))
        return context

    def client(self, name: str | None = None) -> ssl.SSLContext:
        """Make what a client needs that knows this authority, with a certificate of its own or
        without.
        """
        context = ssl.create_default_context(cafile=str(self.folder / "authority.pem"))
        if name is not None:
            context.load_cert_chain(self._issue_certificate(name))
        return context

    def _issue_certificate(self, common_name: str) -> Path:
        key = generate_private_key(SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        made = _certificate(name, self.certificate.subject, key, self.key, authority=False)
        file = self.folder / f"{common_name}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(private + made.public_bytes(Encoding.PEM))
        return file


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: EllipticCurvePrivateKey,
    signer: EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    usage = {"digital_signature": True, "key_cert_sign": authority, "crl_sign": authority}
    unused = (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "encipher_only",
        "decipher_only",
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage, **dict.fromkeys(unused, False)), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, SHA256())
    )


@asynccontextmanager
async def tls_proxy(port: int, authority: Authority) -> AsyncGenerator[str, None]:
    """Stand before a port of this machine; one request for each connection."""

    async def relay_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, _, _ = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n\r\n")
            lines = [
                line
                for line in head.split(b"\r\n")
                if not line.lower().startswith(_REMOVED_HEADERS)
            ]  # what a client says of itself is taken away
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in lines
                    if line.lower().startswith(b"content-length:")
                ),
                0,
            )
            lines += [b"connection: close", b"x-forwarded-proto: https", *_name_client(writer)]
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
            up_writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + await reader.readexactly(length))
            writer.write(await up_reader.read(-1))
            await writer.drain()
            up_writer.close()
        except (asyncio.IncompleteReadError, OSError):
            pass  # the client has gone
        finally:
            writer.close()

    server = await asyncio.start_server(relay_connection, "127.0.0.1", 0, ssl=authority.server())
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def _name_client(writer: asyncio.StreamWriter) -> list[bytes]:
    """Say whose certificate it was, if there was one."""
    certificate = writer.get_extra_info("peercert")
    if not certificate:
        return [b"x-ssl-client-verify: NONE"]
    name = dict(pair for group in certificate["subject"] for pair in group)["commonName"]
    return [b"x-ssl-client-verify: SUCCESS", f"x-ssl-client-s-dn: CN={name}".encode()]
