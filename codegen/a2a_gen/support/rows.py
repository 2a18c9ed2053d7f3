"""Rows of the tables of dialects and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Profile:
    """A later patch of a version: the gRPC statuses of errors of capabilities that differ, and the
    usual media type over HTTP+JSON.
    """

    name: str
    statuses: tuple[tuple[str, str], ...]
    media_type: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect of the protocol; ``form_of`` names the dialect whose version and paths it shares,
    ``error_body`` the format of errors over HTTP+JSON.

    ``bases`` names the older versions to which it adds members, the nearest one first. It has all
    methods and paths of them, and only its own version selects it.
    """

    name: str
    title: str
    version: str | None
    form_of: str | None
    jsonrpc: bool
    http_prefixes: tuple[str, ...]
    media_types: tuple[str, ...]
    error_body: str
    card_paths: tuple[str, ...]
    stream_errors_as_events: bool = False
    """True if a streaming call over JSON-RPC that fails before its first event is answered by an
    event stream with the error.
    """
    profiles: tuple[Profile, ...] = ()
    bases: tuple[str, ...] = ()
    is_draft: bool = False
    """True for a version that is not released yet; no surface has it unless it is named."""

    @property
    def extends(self) -> str | None:
        """The older version to which it adds members."""
        if self.bases:
            return self.bases[0]
        return None

    @property
    def home(self) -> str:
        """The name of the dialect whose paths and cards it has: its own, or that of the one that it
        is a form of or extends.
        """
        return self.form_of or (self.bases[-1] if self.bases else self.name)

    @property
    def spelling(self) -> str:
        """The name in settings: the version, marked if it is a draft."""
        return f"{self.version or self.name}{'-draft' if self.is_draft else ''}"

    def includes(self, other: Dialect) -> bool:
        """Return whether it is a dialect or extends it."""
        return self is other or other.name in self.bases


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a client sends beside its request, in any of several headers or query
    parameters.
    """

    headers: tuple[str, ...]
    description: str


class PublicError(Protocol):
    """An error whose text and details are public."""

    message: str
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The codes of an error; ``message`` is set where a dialect has a text of its own, and
    ``dialects`` holds the rows that differ.
    """

    code: int
    http: int
    grpc: str
    reason: str | None = None
    jsonrpc_status: int = 200
    message: str | None = None
    dialects: Mapping[str, ErrorRow] = field(default_factory=dict[str, "ErrorRow"])

    def in_dialect(self, dialect: str) -> ErrorRow:
        """Return the row of a dialect."""
        return self.dialects.get(dialect, self)

    def text(self, error: PublicError) -> str:
        """Return the public text of an error: the dialect's own if the error has the details that
        it names, else the error's.
        """
        try:
            if self.message is None:
                return error.message
            return self.message.format_map(error.details)
        except KeyError:
            return error.message
