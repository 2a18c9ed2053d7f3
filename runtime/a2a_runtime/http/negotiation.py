"""Which dialect answers: a pure table, made once for the dialects of a surface.

A client names a version, in a header or a query parameter, or none; each method and each path belongs to one dialect, or to several.

    version    methods and paths of 1.0    of 0.3                   of mesh
    none       1.0                         0.3                      mesh
    1.0        1.0                         not found, or refused    not found
    0.3        1.0                         0.3                      not found
    other      refused, with the list of those that are spoken

The canonical dialect answers under every version that the surface speaks, since its own source names 0.3 beside its methods; and it answers where
no version is named, since the names of 1.0 do not exist in 0.3. A method that several dialects have means, of those that may answer, the one in
which its task was created, and else the first: each speaks of its tasks in its own way, and cancels and follows them by its own rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import ValidationError

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import CANONICAL, DIALECTS, Dialect
from a2a_contract.errors import A2AError, InvalidParamsError, MethodNotFoundError, VersionNotSupportedError
from a2a_contract.http import RouteBinding, RouteMatch
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_runtime.http.errors import collect_field_errors, to_validation_error


def expand_dialects(names: Iterable[str]) -> tuple[Dialect, ...]:
    """List the dialects of a surface with all of their forms, the canonical one first."""
    chosen = frozenset(names)
    return tuple(each for each in DIALECTS.values() if each.name in chosen or each.form_of in chosen)


def normalize_version(text: str | None) -> str | None:
    """Read a version as a client names it: patches do not matter, and an empty one is none."""
    text = text.strip() if text else None
    return ".".join(text.split(".")[:2]) if text else None


class SupportedDialects:
    """The dialects that a surface speaks."""

    def __init__(self, names: Iterable[str]) -> None:
        self.dialects = expand_dialects(names)
        self.versions = tuple(dict.fromkeys(each.version for each in self.dialects if each.version))
        self._names_by_version: Mapping[str | None, frozenset[str]] = {
            version: frozenset(each.name for each in self.dialects if version in {None, each.version} or each is CANONICAL)
            for version in (None, *self.versions)
        }
        prefixes = {prefix for each in DIALECTS.values() if each not in self.dialects for prefix in each.http_prefixes}
        self._unsupported_prefixes = tuple(f"{prefix}/" for prefix in prefixes if prefix and "{" not in prefix)

    def for_version(self, version: str | None) -> frozenset[str]:
        """Name the dialects that answer somebody who names this version, or none."""
        try:
            return self._names_by_version[version]
        except KeyError:
            raise self._build_version_error() from None

    def check_path(self, version: str | None, path: str) -> None:
        """Refuse who means a version that is not spoken here, by its name or by asking below a path that only it has."""
        self.for_version(version)
        if path.startswith(self._unsupported_prefixes):
            raise self._build_version_error()

    def _build_version_error(self) -> VersionNotSupportedError:
        spoken = ", ".join(self.versions)
        return VersionNotSupportedError(
            f"Protocol version is not supported; supported: {spoken or 'none, leave it out'}", details={"supported_versions": spoken}
        )

    def select_bindings(self, version: str | None, bindings: Sequence[AnyBinding]) -> Sequence[int]:
        """Choose among the dialects that have a method, by their places, those that may answer; at least one."""
        answering = self.for_version(version)
        places = [place for place, binding in enumerate(bindings) if binding.dialect in answering]
        if not places:
            raise MethodNotFoundError(fields=(("method", "is not one of the version that was asked for"),))
        return places

    def check_version(self, version: str | None, dialect: str) -> None:
        """Refuse a version that does not go with the dialect of a path."""
        if dialect not in self.for_version(version):
            raise VersionNotSupportedError(details={"supported_versions": DIALECTS[dialect].version or ""})

    def fallback(self, version: str | None) -> str:
        """Name the dialect of an answer to what was not understood."""
        return next((each.name for each in self.dialects if each.version == version), self.dialects[0].name)

    def card_dialect(self, version: str | None, readers: Sequence[str]) -> str | None:
        """Choose the dialect of a card at a path where clients of some dialects look, or ``None`` for the one that all of them can read."""
        if version is not None:
            self.for_version(version)
            return self.fallback(version)
        if CANONICAL.name in readers:
            return None
        here = [each for each in self.dialects if each.name in readers]
        return next((each.name for each in here if each.version is None), here[0].name if here else None)


# Reading a request over HTTP+JSON where one version has two forms: 0.3 is answered in the form in which it was asked.
#
# A body shows its form: what is of one kind cannot be read as the other. A request without a body shows none, and means the one that the surface
# prefers. Cards are in the documented form for everybody: the official SDK reads no other, whatever it speaks besides.
#

_KIND = b'"kind"'
"""What objects of the documented form of 0.3 have to tell themselves apart."""


def parse_request(match: RouteMatch, query: bytes, body: bytes, preferred: frozenset[str]) -> tuple[AnyBinding, WireModel]:
    """Read a request in the first form that it has, or refuse it with what is wrong with it in the likeliest one."""
    first: A2AError | None = None
    for choice in _order_choices(match.bindings, body, preferred):
        try:
            return choice.binding, choice.binding.parse(match.parse(choice, query, body))
        except ValidationError as error:
            first = first or _build_validation_error(error, match, choice, query, body)
    assert first is not None, "a match has a choice"  # noqa: S101 - nothing from outside leads here
    raise first


def _build_validation_error(error: ValidationError, match: RouteMatch, choice: RouteBinding, query: bytes, body: bytes) -> A2AError:
    refusal = to_validation_error(error, choice.binding.request)
    if isinstance(refusal, InvalidParamsError):
        with suppress(ValidationError):  # a body that is no object has no members to look at
            refusal.fields = collect_field_errors(choice.binding, match.request_members(choice, query, body), tuple(refusal.fields))
    return refusal


def _order_choices(choices: Sequence[RouteBinding], body: bytes, preferred: frozenset[str]) -> Sequence[RouteBinding]:
    if len(choices) == 1 or _KIND in body or choices[0].binding.operation is GET_EXTENDED_AGENT_CARD:
        return choices
    return sorted(choices, key=lambda choice: choice.binding.dialect not in preferred)
