"""API keys. What is kept of a key is its digest: whoever reads the configuration cannot use it.

    ApiKeys({digest_of_key: Identity("ada")}, name="X-API-Key")        the digest comes from ``digest(key)``

Keys are long and random, not chosen by people (``new_key``); a plain digest of them cannot be guessed.
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

from a2a_contract.v1_0 import APIKeySecurityScheme, HTTPAuthSecurityScheme, MutualTlsSecurityScheme, SecurityScheme
from a2a_runtime.auth.authentication import Credentials, Identity, InvalidCredentialsError, parse_authorization
from a2a_runtime.auth.rate_limit import FailedAttemptLimiter
from a2a_runtime.clock import Clock, SystemClock

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_KEY_CHARS = 1000
_NO_NAME = ""  # a key names nobody, until it is found


class KeyLocation(StrEnum):
    """Where in a request a key stands; the values are those of the card."""

    HEADER = "header"
    QUERY = "query"
    COOKIE = "cookie"


def generate_key() -> str:
    """Make a key."""
    return secrets.token_urlsafe(32)


def digest_key(key: str) -> str:
    """Make what is kept of a key."""
    return sha256(key.encode()).hexdigest()


class ApiKeyAuthenticator:
    """Knows some keys."""

    def __init__(
        self,
        keys: Mapping[str, Identity],
        name: str = "X-API-Key",
        location: KeyLocation = KeyLocation.HEADER,
        *,
        scheme: str = "apiKey",
        failed_attempts: FailedAttemptLimiter | None = None,
    ) -> None:
        wrong = [place for place, each in enumerate(keys, 1) if not _DIGEST.fullmatch(each)]
        if wrong:
            numbers = ", ".join(map(str, wrong))  # never the text itself: it may be a key
            raise ValueError(f"keys are kept as digests, 64 hexadecimal digits, as number {numbers} is not; make one with a2a-gen auth digest")
        self._digest_secret = secrets.token_bytes(32)
        self._keys = {self._keyed_digest(each): identity for each, identity in keys.items()}
        self._name, self._location, self._scheme = name, location, scheme
        self._failed_attempts = failed_attempts or FailedAttemptLimiter()

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Look up the key of a request."""
        key = self._read_key(headers)
        if key is None:
            return None
        mark = self._keyed_digest(digest_key(key[:_MAX_KEY_CHARS]))
        self._failed_attempts.check(headers, _NO_NAME, mark)
        identity = self._keys.get(mark) if len(key) <= _MAX_KEY_CHARS else None
        if identity is None:
            self._failed_attempts.record_failure(headers, _NO_NAME, mark)
            raise InvalidCredentialsError("The key is not known")
        self._failed_attempts.record_success(headers, mark)
        return identity

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the key."""
        return {self._scheme: SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location=self._location, name=self._name))}

    def _keyed_digest(self, key_digest: str) -> bytes:
        """Compare in constant time: what is looked up is nothing that a caller could know or choose, so that its time tells them nothing."""
        return blake2b(key_digest.encode(), key=self._digest_secret, digest_size=32).digest()

    def _read_key(self, headers: Mapping[str, str]) -> str | None:
        if self._location is KeyLocation.HEADER:
            return headers.get(self._name)
        if not isinstance(headers, Credentials):
            return None
        return headers.get_query_parameter(self._name) if self._location is KeyLocation.QUERY else headers.get_cookie(self._name)


# Names and passwords, as HTTP Basic sends them. What is kept of a password is made by scrypt: slow on purpose.
#
#     Passwords({"ada": User(hash_password("…"), Identity("ada"))})
#
# A check takes a thread and a tenth of a second, of which there are never more than a few at once. A password that was right is known again for some
# minutes by a keyed digest that only this process can make; taking somebody out of the list, or changing their hash, takes effect at once.
#

_SCRYPT_COST, _SCRYPT_BLOCK_SIZE, _SCRYPT_PARALLELISM = 2**15, 8, 1
_SCRYPT_MAX_BYTES = 2 * 128 * _SCRYPT_COST * _SCRYPT_BLOCK_SIZE
_MAX_PASSWORD_CHARS = 1000
_VERIFIED_SECONDS = 300.0
_MAX_CONCURRENT_CHECKS = 4
_BASIC = "basic"
_HASH_FORMAT = re.compile(r"scrypt\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password, or what is kept of it."""

    password_hash: str
    identity: Identity


def hash_password(password: str) -> str:
    """Make what is kept of a password."""
    salt = secrets.token_bytes(16)
    return "$".join(("scrypt", b64encode(salt).decode(), b64encode(_derive_key(password, salt)).decode()))


class BasicAuthenticator:
    """Knows some users by their passwords."""

    def __init__(
        self, users: Mapping[str, User], *, scheme: str = "basic", failed_attempts: FailedAttemptLimiter | None = None, clock: Clock | None = None
    ) -> None:
        self._users, self._scheme, self._clock = users, scheme, clock or SystemClock()
        self._failed_attempts = failed_attempts or FailedAttemptLimiter(clock=clock)
        wrong = [name for name, user in users.items() if not _HASH_FORMAT.fullmatch(user.password_hash)]
        if wrong:
            raise ValueError(f"the passwords of {', '.join(wrong)} are kept as hashes; make one with a2a-gen auth password")
        self._dummy_hash = hash_password(secrets.token_urlsafe())
        self._digest_secret = secrets.token_bytes(32)
        self._verified: dict[str, tuple[bytes, float]] = {}
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_CHECKS)

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity] | None:
        """Check the name and password of a request, at once if they were right a moment ago."""
        proof = parse_authorization(headers, _BASIC)
        if proof is None:
            return None
        name, password = _parse_basic(proof)
        user = self._users.get(name)
        kept = self._dummy_hash if user is None else user.password_hash  # a name that nobody has takes as long
        mark = self._fingerprint(name, password, kept)
        if user is not None and self._is_verified(name, mark):
            return user.identity
        return self._check(headers, name, password, mark)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the header."""
        return {self._scheme: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic"))}

    async def _check(self, headers: Mapping[str, str], name: str, password: str, fingerprint: bytes) -> Identity:
        user = self._users.get(name)
        async with self._slots:
            self._failed_attempts.check(headers, name, fingerprint)  # in here, so that those who wait count what those before them have guessed
            right = await asyncio.to_thread(_is_password_of, password, self._dummy_hash if user is None else user.password_hash)
            if user is None or not right:
                self._failed_attempts.record_failure(headers, name, fingerprint)
                raise InvalidCredentialsError("The name or the password is wrong")
        self._failed_attempts.record_success(headers, fingerprint)
        self._verified[name] = fingerprint, self._clock.monotonic() + _VERIFIED_SECONDS
        return user.identity

    def _is_verified(self, name: str, fingerprint: bytes) -> bool:
        known, until = self._verified.get(name, (b"", 0.0))
        return hmac.compare_digest(known, fingerprint) and self._clock.monotonic() < until

    def _fingerprint(self, name: str, password: str, password_hash: str) -> bytes:
        return blake2b(f"{name}\0{password_hash}\0{password}".encode(errors="surrogatepass"), key=self._digest_secret).digest()


def _parse_basic(encoded: str) -> tuple[str, str]:
    try:
        name, colon, password = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        name = colon = password = ""
    if not colon or len(password) > _MAX_PASSWORD_CHARS:
        raise InvalidCredentialsError("The name and password cannot be read")
    return name, password


def _is_password_of(password: str, password_hash: str) -> bool:
    _, salt, wanted = password_hash.split("$")
    return hmac.compare_digest(_derive_key(password, b64decode(salt)), b64decode(wanted))


def _derive_key(password: str, salt: bytes) -> bytes:
    return scrypt(password.encode(), salt=salt, n=_SCRYPT_COST, r=_SCRYPT_BLOCK_SIZE, p=_SCRYPT_PARALLELISM, maxmem=_SCRYPT_MAX_BYTES, dklen=32)


# Client certificates (mutual TLS), checked by a proxy that says in headers what it has found.
#
#     Certificates(trusted=["10.0.0.0/28"])                 nginx: X-SSL-Client-Verify: SUCCESS, X-SSL-Client-S-DN: CN=ada,O=Acme
#
# Anybody can send such headers. They are believed from the proxy's own addresses only, and the proxy must put its own in the place of those that a
# client sends. Who sends them from elsewhere is refused, and not just not believed: something is wrong with the network. The address is the one of
# the
# connection: a server that puts a forwarded one in its place (``--proxy-headers``) would refuse every certificate.
#


class MtlsAuthenticator:
    """Knows callers by the names in their certificates: those in ``callers``, or everybody who has one."""

    def __init__(
        self,
        trusted_proxies: Iterable[str],
        *,
        subject_header: str = "x-ssl-client-s-dn",
        verified: tuple[str, str] = ("x-ssl-client-verify", "SUCCESS"),
        scheme: str = "mtls",
        callers: Mapping[str, Identity] | None = None,
    ) -> None:
        self._trusted_networks, self._callers = [ip_network(each) for each in trusted_proxies], callers
        if not self._trusted_networks:
            raise ValueError("name the addresses of the proxy that checks certificates: trusted=['10.0.0.0/28']")
        self._subject_header, (self._verified_header, self._verified_value) = subject_header, verified
        self._scheme = scheme

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Take the name that the proxy gives."""
        subject, verified = headers.get(self._subject_header), headers.get(self._verified_header)
        if not subject and verified != self._verified_value:
            return None
        if not isinstance(headers, Credentials) or not self._is_trusted(headers.client_host):
            raise InvalidCredentialsError("A certificate was named by somebody who cannot have checked it")
        if not subject or verified != self._verified_value:
            raise InvalidCredentialsError("The certificate was not verified")
        if self._callers is None:
            return Identity(subject)
        if subject not in self._callers:
            raise InvalidCredentialsError("The certificate is that of nobody who is known here")
        return self._callers[subject]

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Say that a certificate is needed."""
        return {self._scheme: SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())}

    def _is_trusted(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._trusted_networks)
