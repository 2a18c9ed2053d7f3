"""Names and passwords, as HTTP Basic sends them. What is kept of a password is made by scrypt: slow on purpose.

    Passwords({"ada": User(hash_password("…"), Identity("ada"))})

A check takes a thread and a tenth of a second, of which there are never more than a few at once. A password that was right is known again for some
minutes by a keyed digest that only this process can make; taking somebody out of the list, or changing their hash, takes effect at once.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from hashlib import blake2b, scrypt

from a2a_contract.v1_0 import HTTPAuthSecurityScheme, SecurityScheme
from a2a_runtime.auth.credentials import authorization
from a2a_runtime.auth.guesses import Guesses
from a2a_runtime.auth.identity import Identity, RefusedError
from a2a_runtime.clock import Clock, SystemClock

_COST, _BLOCK, _LANES = 2**15, 8, 1
_MEMORY = 2 * 128 * _COST * _BLOCK
_LONGEST = 1000
_KNOWN_SECONDS = 300.0
_AT_ONCE = 4
_BASIC = "basic"
_HASH = re.compile(r"scrypt\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password, or what is kept of it."""

    password_hash: str
    identity: Identity


def hash_password(password: str) -> str:
    """Make what is kept of a password."""
    salt = secrets.token_bytes(16)
    return "$".join(("scrypt", b64encode(salt).decode(), b64encode(_slow(password, salt)).decode()))


class Passwords:
    """Knows some users by their passwords."""

    def __init__(self, users: Mapping[str, User], *, scheme: str = "basic", guesses: Guesses | None = None, clock: Clock | None = None) -> None:
        self._users, self._scheme, self._clock = users, scheme, clock or SystemClock()
        self._guesses = guesses or Guesses(clock=clock)
        wrong = [name for name, user in users.items() if not _HASH.fullmatch(user.password_hash)]
        if wrong:
            raise ValueError(f"the passwords of {', '.join(wrong)} are kept as hashes; make one with a2a-gen auth password")
        self._nobody = hash_password(secrets.token_urlsafe())
        self._secret = secrets.token_bytes(32)
        self._known: dict[str, tuple[bytes, float]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity] | None:
        """Check the name and password of a request, at once if they were right a moment ago."""
        proof = authorization(headers, _BASIC)
        if proof is None:
            return None
        name, password = _read(proof)
        user = self._users.get(name)
        kept = self._nobody if user is None else user.password_hash  # a name that nobody has takes as long
        mark = self._mark(name, password, kept)
        if user is not None and self._is_known(name, mark):
            return user.identity
        return self._check(headers, name, password, mark)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the header."""
        return {self._scheme: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic"))}

    async def _check(self, headers: Mapping[str, str], name: str, password: str, mark: bytes) -> Identity:
        user = self._users.get(name)
        async with self._room:
            self._guesses.check(headers, name, mark)  # in here, so that those who wait count what those before them have guessed
            right = await asyncio.to_thread(_matches, password, self._nobody if user is None else user.password_hash)
            if user is None or not right:
                self._guesses.was_wrong(headers, name, mark)
                raise RefusedError("The name or the password is wrong")
        self._guesses.was_right(headers, mark)
        self._known[name] = mark, self._clock.monotonic() + _KNOWN_SECONDS
        return user.identity

    def _is_known(self, name: str, mark: bytes) -> bool:
        known, until = self._known.get(name, (b"", 0.0))
        return hmac.compare_digest(known, mark) and self._clock.monotonic() < until

    def _mark(self, name: str, password: str, kept: str) -> bytes:
        return blake2b(f"{name}\0{kept}\0{password}".encode(errors="surrogatepass"), key=self._secret).digest()


def _read(proof: str) -> tuple[str, str]:
    try:
        name, colon, password = b64decode(proof, validate=True).decode().partition(":")
    except ValueError:
        name = colon = password = ""
    if not colon or len(password) > _LONGEST:
        raise RefusedError("The name and password cannot be read")
    return name, password


def _matches(password: str, kept: str) -> bool:
    _, salt, wanted = kept.split("$")
    return hmac.compare_digest(_slow(password, b64decode(salt)), b64decode(wanted))


def _slow(password: str, salt: bytes) -> bytes:
    return scrypt(password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_LANES, maxmem=_MEMORY, dklen=32)
