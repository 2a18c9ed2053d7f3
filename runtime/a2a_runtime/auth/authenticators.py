"""Authenticators for API keys, HTTP Basic and client certificates.

    ApiKeyAuthenticator({digest_key(key): Identity("ada")}, name="X-API-Key")
    BasicAuthenticator({"ada": User(hash_password("…"), Identity("ada"))})
    MtlsAuthenticator(["10.0.0.0/28"])

Keys are stored as SHA-256 digests: they are long and random (``generate_key``), so that a digest
cannot be reversed by guessing. Passwords are stored as scrypt hashes, which are slow to compute on
purpose.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b, scrypt, sha256
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_contract.v1_0 import (
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    SecurityScheme,
)
from a2a_runtime.auth.authentication import (
    Credentials,
    Identity,
    InvalidCredentialsError,
    parse_authorization,
)
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter
from a2a_runtime.auth.tables import build_identity, build_limiter
from a2a_runtime.base.clock import Clock, SystemClock

if TYPE_CHECKING:
    from a2a_contract.auth_tables import ApiKeysTable, BasicTable, MutualTlsTable

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_KEY_CHARS = 1000
_EMPTY_DIGEST = sha256().hexdigest()
_NO_NAME = ""
"""An API key names no caller: all keys share one counter of failed attempts."""


class KeyLocation(StrEnum):
    """The part of a request that holds the key; the values are those of the card."""

    HEADER = "header"
    QUERY = "query"
    COOKIE = "cookie"


def generate_key() -> str:
    """Generate an API key."""
    return secrets.token_urlsafe(32)


def digest_key(key: str) -> str:
    """Return the digest of a key, for ``ApiKeyAuthenticator`` and ``a2a.toml``."""
    if not key.strip():
        raise ValueError(
            "digest_key: the key is empty, and a request without a key would have it; is its "
            "setting missing?"
        )
    return _digest(key)


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


class ApiKeyAuthenticator:
    """API keys in a header, the query or a cookie."""

    def __init__(
        self,
        keys: Mapping[str, Identity],
        name: str = "X-API-Key",
        location: KeyLocation = KeyLocation.HEADER,
        *,
        scheme: str = "apiKey",
        failed_attempts: FailedAttemptLimiter | None = None,
    ) -> None:
        wrong = [number for number, each in enumerate(keys, 1) if not _DIGEST.fullmatch(each)]
        if wrong:
            # never the text itself: it may be a key
            numbers = ", ".join(map(str, wrong))
            raise ValueError(
                f"ApiKeyAuthenticator: key number {numbers} is not a digest of 64 "
                "hexadecimal digits; run a2a-gen auth digest"
            )
        if _EMPTY_DIGEST in {each.lower() for each in keys}:
            raise ValueError(
                "ApiKeyAuthenticator: a digest is that of an empty key, which every client "
                "has; run a2a-gen auth key"
            )
        self._digest_secret = secrets.token_bytes(32)
        self._keys = {self._fingerprint(each): identity for each, identity in keys.items()}
        self._name = name
        self._location = location
        self._scheme = scheme
        self._failed_attempts = failed_attempts or FailedAttemptLimiter()

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Look up the key of a request."""
        key = self._read_key(headers)
        if key is None:
            return None
        fingerprint = self._fingerprint(_digest(key[:_MAX_KEY_CHARS]))
        self._failed_attempts.check(headers, _NO_NAME, fingerprint)
        identity = self._keys.get(fingerprint) if len(key) <= _MAX_KEY_CHARS else None
        if identity is None:
            self._failed_attempts.record_failure(headers, _NO_NAME, fingerprint)
            raise InvalidCredentialsError("The API key is unknown")
        self._failed_attempts.record_success(headers, fingerprint)
        return identity

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the API key scheme."""
        return {
            self._scheme: SecurityScheme(
                api_key_security_scheme=APIKeySecurityScheme(
                    location=self._location, name=self._name
                )
            )
        }

    def _fingerprint(self, key_digest: str) -> bytes:
        """Hash with a secret of this process: the timing of a lookup then says nothing about the
        stored digests.
        """
        return blake2b(key_digest.encode(), key=self._digest_secret, digest_size=32).digest()

    def _read_key(self, headers: Mapping[str, str]) -> str | None:
        if self._location is KeyLocation.HEADER:
            return headers.get(self._name)
        if not isinstance(headers, Credentials):
            return None
        if self._location is KeyLocation.QUERY:
            return headers.get_query_parameter(self._name)
        return headers.get_cookie(self._name)


def build_api_keys(
    name: str, table: ApiKeysTable, _folder: Path, _environment: Mapping[str, str]
) -> ApiKeyAuthenticator:
    """Build the authenticator of a table ``[auth.*]``."""
    identities = {digest: build_identity(subject, table) for digest, subject in table.keys.items()}
    return ApiKeyAuthenticator(
        identities,
        table.name,
        KeyLocation(table.location),
        scheme=name,
        failed_attempts=build_limiter(table.failed_attempts),
    )


_SCRYPT_COST = 2**15
_SCRYPT_BLOCK_SIZE = 8
_SCRYPT_PARALLELISM = 1
_SCRYPT_MAX_BYTES = 2 * 128 * _SCRYPT_COST * _SCRYPT_BLOCK_SIZE
_MAX_PASSWORD_CHARS = 1000
_VERIFIED_SECONDS = 300.0
_MAX_CONCURRENT_CHECKS = 4
_BASIC = "basic"
_HASH_FORMAT = re.compile(r"scrypt\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True, slots=True)
class User:
    """A password hash and the identity that the password proves."""

    password_hash: str
    identity: Identity


def hash_password(password: str) -> str:
    """Return the scrypt hash of a password with a new salt, for ``BasicAuthenticator`` and
    ``a2a.toml``.
    """
    if not password:
        raise ValueError("hash_password: the password is empty; is its setting missing?")
    salt = secrets.token_bytes(16)
    return "$".join(
        ("scrypt", b64encode(salt).decode(), b64encode(_derive_key(password, salt)).decode())
    )


class BasicAuthenticator:
    """User names and passwords (HTTP Basic).

    A check takes 0.1 s in a thread, at most four at a time. A correct password is then accepted for
    five minutes by a keyed digest that only this process can compute. A user who is removed, or
    gets another hash, is rejected at once.
    """

    def __init__(
        self,
        users: Mapping[str, User],
        *,
        scheme: str = "basic",
        failed_attempts: FailedAttemptLimiter | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._users = users
        self._scheme = scheme
        self._clock = clock or SystemClock()
        self._failed_attempts = failed_attempts or FailedAttemptLimiter(clock=clock)
        wrong = [
            name for name, user in users.items() if not _HASH_FORMAT.fullmatch(user.password_hash)
        ]
        if wrong:
            raise ValueError(
                f"BasicAuthenticator: the password of {', '.join(wrong)} is not a scrypt "
                "hash; run a2a-gen auth password"
            )
        self._dummy_hash = hash_password(secrets.token_urlsafe())
        self._digest_secret = secrets.token_bytes(32)
        self._verified: dict[str, tuple[bytes, float]] = {}
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_CHECKS)

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity] | None:
        """Check the user name and password of a request; immediate if they were correct within the
        last five minutes.
        """
        encoded = parse_authorization(headers, _BASIC)
        if encoded is None:
            return None
        name, password = _parse_basic(encoded)
        user = self._users.get(name)
        # an unknown name takes as long as a known one, so that time tells nothing
        password_hash = self._dummy_hash if user is None else user.password_hash
        text = f"{name}\0{password_hash}\0{password}"
        fingerprint = blake2b(text.encode(errors="surrogatepass"), key=self._digest_secret).digest()
        if user is not None and self._is_verified(name, fingerprint):
            return user.identity
        return self._check(headers, name, password, fingerprint)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the Basic scheme."""
        return {
            self._scheme: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic")
            )
        }

    async def _check(
        self, headers: Mapping[str, str], name: str, password: str, fingerprint: bytes
    ) -> Identity:
        user = self._users.get(name)
        password_hash = self._dummy_hash if user is None else user.password_hash
        async with self._slots:
            # inside of the slots: attempts that wait here count the failures of those before them
            self._failed_attempts.check(headers, name, fingerprint)
            is_correct = await asyncio.to_thread(_is_password_of, password, password_hash)
            if user is None or not is_correct:
                self._failed_attempts.record_failure(headers, name, fingerprint)
                raise InvalidCredentialsError("The user name or password is wrong")
        self._failed_attempts.record_success(headers, fingerprint)
        self._verified[name] = fingerprint, self._clock.monotonic() + _VERIFIED_SECONDS
        return user.identity

    def _is_verified(self, name: str, fingerprint: bytes) -> bool:
        verified, until = self._verified.get(name, (b"", 0.0))
        return hmac.compare_digest(verified, fingerprint) and self._clock.monotonic() < until


def _parse_basic(encoded: str) -> tuple[str, str]:
    try:
        name, colon, password = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        name = colon = password = ""
    if not colon or not password or len(password) > _MAX_PASSWORD_CHARS:
        raise InvalidCredentialsError("The user name and password cannot be decoded")
    return name, password


def _is_password_of(password: str, password_hash: str) -> bool:
    _, salt, expected = password_hash.split("$")
    return hmac.compare_digest(_derive_key(password, b64decode(salt)), b64decode(expected))


def _derive_key(password: str, salt: bytes) -> bytes:
    return scrypt(
        password.encode(),
        salt=salt,
        n=_SCRYPT_COST,
        r=_SCRYPT_BLOCK_SIZE,
        p=_SCRYPT_PARALLELISM,
        maxmem=_SCRYPT_MAX_BYTES,
        dklen=32,
    )


def build_basic(
    name: str, table: BasicTable, _folder: Path, _environment: Mapping[str, str]
) -> BasicAuthenticator:
    """Build the authenticator of a table ``[auth.*]``."""
    users = {
        user: User(password_hash, build_identity(user, table))
        for user, password_hash in table.users.items()
    }
    limiter = build_limiter(table.failed_attempts)
    return BasicAuthenticator(users, scheme=name, failed_attempts=limiter)


class MtlsAuthenticator:
    """Client certificates (mutual TLS), verified by the server itself, or by a proxy that reports
    them in headers.

        MtlsAuthenticator()                   a2a-gen serve --ssl-certfile … --ssl-ca-certs …,
                                              or the ASGI extension tls of another server
        MtlsAuthenticator(["10.0.0.0/28"])    nginx: X-SSL-Client-Verify: SUCCESS,
                                              X-SSL-Client-S-DN: CN=ada,O=Acme

    Any client can send such headers. They are accepted from the addresses of the proxy only, and
    the proxy must overwrite those of its clients. From another address they are rejected, not
    ignored: the network is misconfigured. The address is that of the connection, so a server that
    replaces it by a forwarded one (``--proxy-headers``) rejects every certificate.

    ``callers`` maps the subjects of certificates to identities; without it every verified subject
    is admitted.
    """

    def __init__(
        self,
        trusted_proxies: Iterable[str] = (),
        *,
        subject_header: str = "x-ssl-client-s-dn",
        verified: tuple[str, str] = ("x-ssl-client-verify", "SUCCESS"),
        scheme: str = "mtls",
        callers: Mapping[str, Identity] | None = None,
    ) -> None:
        self._trusted_networks = [ip_network(each) for each in trusted_proxies]
        self._callers = callers
        self._subject_header = subject_header
        (self._verified_header, self._verified_value) = verified
        self._scheme = scheme

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Read the subject that the server or the proxy reports."""
        subject = (
            self._read_proxy(headers) if self._trusted_networks else _read_certificate_name(headers)
        )
        if not subject or self._callers is None:
            if subject:
                return Identity(subject)
            return None
        if subject not in self._callers:
            raise InvalidCredentialsError("The subject of the certificate is unknown")
        return self._callers[subject]

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the mutual TLS scheme."""
        return {self._scheme: SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())}

    def _read_proxy(self, headers: Mapping[str, str]) -> str | None:
        subject = headers.get(self._subject_header)
        is_verified = headers.get(self._verified_header) == self._verified_value
        if not subject and not is_verified:
            return None
        if (
            not isinstance(headers, Credentials)
            or headers.is_forwarded
            or not self._is_trusted(headers.client_host)
        ):
            raise InvalidCredentialsError("The certificate was not reported by a trusted proxy")
        if not subject or not is_verified:
            raise InvalidCredentialsError("The certificate is not verified")
        return subject

    def _is_trusted(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._trusted_networks)


def _read_certificate_name(headers: Mapping[str, str]) -> str | None:
    if isinstance(headers, Credentials):
        return headers.certificate_name
    return None


def build_mtls(
    name: str, table: MutualTlsTable, _folder: Path, _environment: Mapping[str, str]
) -> MtlsAuthenticator:
    """Build the authenticator of a table ``[auth.*]``."""
    callers = None
    if table.callers is not None:
        callers = {
            subject: build_identity(caller, table) for subject, caller in table.callers.items()
        }
    return MtlsAuthenticator(
        table.trusted_proxies or (),
        subject_header=table.subject_header,
        verified=(table.verified_header, table.verified_value),
        scheme=name,
        callers=callers,
    )
