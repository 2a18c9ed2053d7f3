"""What a request brings along to prove who sent it, read from the connection only when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

from litestar.types import HTTPScope


class Credentials:
    """Views on a connection: its headers, its query and its cookies. Names of headers are small letters."""

    def __init__(self, scope: HTTPScope) -> None:
        self._scope = scope

    def every(self, header: str) -> tuple[str, ...]:
        """Give every value of a header: whoever decides may want to refuse what comes twice."""
        name = header.lower().encode("latin-1")
        return tuple(value.decode("latin-1") for key, value in self._scope["headers"] if key == name)

    def header(self, name: str) -> str | None:
        """Give the value of a header; one that comes twice has none."""
        values = self.every(name)
        return values[0] if len(values) == 1 else None

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query; of several with one name, the last."""
        return dict(parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True))

    @cached_property
    def cookies(self) -> Mapping[str, str]:
        """The cookies; none when they cannot be read."""
        try:
            return {name: morsel.value for name, morsel in SimpleCookie("; ".join(self.every("cookie"))).items()}
        except CookieError:
            return {}

    @property
    def client(self) -> str:
        """The address that the request came from, as the server tells it."""
        client = self._scope.get("client")
        return client[0] if client else ""

    @property
    def is_encrypted(self) -> bool:
        """Whether the request came over TLS, as the server tells it."""
        return self._scope["scheme"] == "https"

    def __repr__(self) -> str:
        return "Credentials(…)"  # what is in here belongs in no log
