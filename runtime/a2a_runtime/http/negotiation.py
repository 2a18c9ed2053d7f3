"""Negotiation: which dialect responds to a request, and in which form.

A client names a version, in a header or a query parameter, or none; each method and each path
belongs to one dialect, or to several.

    version    methods and paths of 1.0    of 0.3                   of mesh
    none       1.0                         0.3                      mesh
    1.0        1.0                         not found, or refused    not found
    1.1        1.1, an extension of 1.0    not found, or refused    not found
    0.3        refused                     0.3                      not found
    other      refused, with the list of supported versions

A dialect that extends another has the methods and paths of that one, and responds to its own
version only.

The canonical dialect also responds where no version is named, because 0.3 does not have the names
of 1.0. A method of several dialects means the dialect in which its task was created, else that of
the mesh, whose consumers name no version, else the first one: each dialect shows its tasks in its
own way, and has its own rules for canceling and following them.

Version 0.3 has two forms over HTTP+JSON, and each request is answered in its own form. A body shows
its form, because neither form can be parsed as the other. A request without a body has the form
that the surface prefers. Cards are in the documented form for every client, with their security
schemes in both: the official SDK for Python reads no other form, that for JavaScript only
ProtoJSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from pydantic import ValidationError
from pydantic_core import to_json

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import CANONICAL, DIALECTS, Dialect
from a2a_contract.errors import (
    A2AError,
    InvalidParamsError,
    MethodNotFoundError,
    VersionNotSupportedError,
)
from a2a_contract.http import RouteBinding, RouteMatch
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_runtime.http.errors import collect_field_errors, to_validation_error

_KIND = b'"kind"'
"""Member that tells objects of the documented form of 0.3 apart."""


def expand_dialects(names: Iterable[str]) -> tuple[Dialect, ...]:
    """List dialects together with their forms, the canonical one first."""
    chosen = frozenset(names)
    return tuple(
        each for each in DIALECTS.values() if each.name in chosen or each.form_of in chosen
    )


def encode_media_types(dialects: Iterable[Dialect]) -> frozenset[bytes]:
    """List the media types of bodies in some dialects, as headers have them."""
    found: set[bytes] = set()
    for each in dialects:
        found.update(name.encode() for name in each.media_types)
    return frozenset(found)


def normalize_version(text: str | None) -> str | None:
    """Reduce a version to major and minor; an empty one is none."""
    text = text.strip() if text else None
    if text:
        return ".".join(text.split(".")[:2])
    return None


def _find_responding(dialects: Sequence[Dialect], version: str | None) -> Iterator[str]:
    """Find the dialects that respond to a version; an extension of another dialect needs to be
    named.
    """
    for each in dialects:
        if each.version == version or (version is None and each.extends is None):
            yield each.name


class SupportedDialects:
    """The dialects of a surface, as a pure table."""

    def __init__(self, names: Iterable[str]) -> None:
        self.dialects = expand_dialects(names)
        self.versions = tuple(dict.fromkeys(each.version for each in self.dialects if each.version))
        self._names_by_version: Mapping[str | None, frozenset[str]] = {
            version: frozenset(_find_responding(self.dialects, version))
            for version in (None, *self.versions)
        }
        self._first_by_version = {each.version: each.name for each in reversed(self.dialects)}
        prefixes: set[str] = set()
        for each in DIALECTS.values():
            if each not in self.dialects:
                prefixes.update(each.http_prefixes)
        self._unsupported_prefixes = tuple(
            f"{prefix}/" for prefix in prefixes if prefix and "{" not in prefix
        )

    def for_version(self, version: str | None) -> frozenset[str]:
        """Return the names of the dialects that respond to a version; refuse an unsupported one."""
        try:
            return self._names_by_version[version]
        except KeyError:
            raise self._build_version_error() from None

    def list_versions(self) -> Iterable[tuple[str | None, frozenset[str]]]:
        """List the versions that a request may name, none first, each with the dialects that
        respond to it.
        """
        return self._names_by_version.items()

    def fallback(self, version: str | None) -> str:
        """Return the dialect for a request that could not be parsed."""
        return self._first_by_version.get(version) or self.dialects[0].name

    def check_version(self, version: str | None, dialect: str) -> None:
        """Refuse a version that does not belong to the dialect of a path."""
        if dialect not in self.for_version(version):
            raise VersionNotSupportedError(
                details={"supported_versions": DIALECTS[dialect].version or ""}
            )

    def check_path(self, version: str | None, path: str) -> None:
        """Refuse an unsupported version, whether it is named or has a path of its own."""
        self.for_version(version)
        if path.startswith(self._unsupported_prefixes):
            raise self._build_version_error()

    def _build_version_error(self) -> VersionNotSupportedError:
        versions = ", ".join(self.versions)
        return VersionNotSupportedError(
            f"Protocol version is not supported; supported: {versions or 'none, leave it out'}",
            details={"supported_versions": versions},
        )

    def find_bindings(self, version: str | None, bindings: Sequence[AnyBinding]) -> Sequence[int]:
        """Return the indexes of the bindings whose dialect responds to a version."""
        names = self.for_version(version)
        return tuple(index for index, binding in enumerate(bindings) if binding.dialect in names)

    def select_bindings(self, version: str | None, bindings: Sequence[AnyBinding]) -> Sequence[int]:
        """Return the indexes of the bindings whose dialect responds to a version, at least one."""
        indexes = self.find_bindings(version, bindings)
        if not indexes:
            # an old client would misread a result of 1.0, so it learns the version of the method
            for each in bindings:
                if each.dialect == CANONICAL.name:
                    self.check_version(version, each.dialect)
            raise MethodNotFoundError(
                fields=(("method", "does not exist in the requested version"),)
            )
        return indexes

    def card_dialect(self, version: str | None, readers: Sequence[str]) -> str | None:
        """Select the dialect of a card by the version, or by the dialects whose clients read a
        path; ``None`` for the card that all of them read.
        """
        if version is not None:
            self.for_version(version)
            return self.fallback(version)
        if CANONICAL.name in readers:
            return None
        read = [each for each in self.dialects if each.name in readers]
        return next(
            (each.name for each in read if each.version is None), read[0].name if read else None
        )


def parse_request(
    match: RouteMatch, query: bytes, body: bytes, preferred: frozenset[str]
) -> tuple[AnyBinding, WireModel]:
    """Parse an HTTP+JSON request in the first form that fits; the errors are those of the likeliest
    form.
    """
    first: A2AError | None = None
    for choice in _order_choices(match.bindings, body, preferred):
        try:
            return choice.binding, choice.binding.parse(match.parse(choice, query, body))
        except ValidationError as error:
            if (mended := _parse_mended(match, choice, query, body)) is not None:
                return choice.binding, mended
            first = first or _build_validation_error(error, match, choice, query, body)
    assert first is not None, "a match has a binding"  # noqa: S101 - a fact of the contract
    raise first


def _parse_mended(
    match: RouteMatch, choice: RouteBinding, query: bytes, body: bytes
) -> WireModel | None:
    """Parse a request with its misplaced members in their places; ``None`` if it stays invalid."""
    binding = choice.binding
    with suppress(ValidationError):  # other errors are reported for the original request
        mended = None
        if binding.misplaced:
            mended = binding.mend(match.request_members(choice, query, body))
        if mended is not None:
            request: WireModel = binding.parse(binding.request.model_validate_json(to_json(mended)))
            return request
    return None


def _build_validation_error(
    error: ValidationError, match: RouteMatch, choice: RouteBinding, query: bytes, body: bytes
) -> A2AError:
    refusal = to_validation_error(error, choice.binding.request)
    if isinstance(refusal, InvalidParamsError):
        with suppress(ValidationError):  # a body that is no object has no members
            refusal.fields = collect_field_errors(
                choice.binding, match.request_members(choice, query, body), tuple(refusal.fields)
            )
    return refusal


def _order_choices(
    choices: Sequence[RouteBinding], body: bytes, preferred: frozenset[str]
) -> Sequence[RouteBinding]:
    if (
        len(choices) == 1
        or _KIND in body
        or choices[0].binding.operation is GET_EXTENDED_AGENT_CARD
    ):
        return choices
    return sorted(
        choices,
        key=lambda choice: (not _is_member(choice, body), choice.binding.dialect not in preferred),
    )


def _is_member(choice: RouteBinding, body: bytes) -> bool:
    """Return whether a body looks like a member of the request instead of the whole."""
    return choice.body is not None and b'"%b"' % choice.body[1].encode() in body
