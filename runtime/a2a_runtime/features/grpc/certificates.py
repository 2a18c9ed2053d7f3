"""Certificates of a gRPC port, read again when their files change: a renewed one needs no restart.

gRPC asks for the certificates in each handshake. Files that cannot be used are reported once in the
log, and the certificates before them stay.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import grpc

from a2a_runtime.errors import ListenError
from a2a_runtime.features.grpc.options import GrpcOptions

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# The stubs of grpcio leave the types of credentials open.

log = logging.getLogger(__name__)

FileVersion: TypeAlias = "tuple[int, int, int] | None"
"""Inode, size and time of change of a file, if it is there."""


class CertificateFiles:
    """The files of a certificate, its key and the authorities of clients."""

    def __init__(self, options: GrpcOptions, certificate: Path) -> None:
        self._certificate = certificate
        self._key = options.private_key or certificate
        self._authorities = options.client_authorities
        self._versions: Sequence[FileVersion] = ()

    def build_credentials(self) -> grpc.ServerCredentials:
        """Build the credentials of a port; raise ``ListenError`` for files that cannot be used."""
        self._versions = self._stat()
        needs_certificates = self._authorities is not None
        return grpc.dynamic_ssl_server_credentials(
            self._read(),
            self._read_again,  # type: ignore[arg-type]  # it may be None
            needs_certificates,
        )

    def _read_again(self) -> grpc.ServerCertificateConfiguration | None:
        """Read the files if they have changed since they were read last; ``None`` keeps the
        certificates.
        """
        if (versions := self._stat()) == self._versions:
            return None
        self._versions = versions
        try:
            configuration = self._read()
        except ListenError as error:
            log.warning("%s; the certificates before stay in use", error)
            return None
        log.info("gRPC: %s: certificate read again", self._certificate)
        return configuration

    def _stat(self) -> Sequence[FileVersion]:
        return [
            _stat(each)
            for each in (self._certificate, self._key, self._authorities)
            if each is not None
        ]

    def _read(self) -> grpc.ServerCertificateConfiguration:
        """Read the files, which are checked first: gRPC says no more than that it failed."""
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate, self._key)
            roots = None
            if self._authorities is not None:
                context.load_verify_locations(self._authorities)
                roots = self._authorities.read_bytes()
            pair = self._key.read_bytes(), self._certificate.read_bytes()
        except OSError as error:  # of TLS too
            problem = (
                f"gRPC: {self._certificate}: {error}; give files with a certificate, its private "
                "key and authorities of clients"
            )
            raise ListenError(problem) from error
        return grpc.ssl_server_certificate_configuration([pair], roots)


def _stat(file: Path) -> FileVersion:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
