"""Negotiation of the dialect: every cell of the table."""

from __future__ import annotations

import pytest

from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import MESH, V0_3, V0_3_PROTO, V1_0
from a2a_contract.errors import A2AError, MethodNotFoundError, VersionNotSupportedError
from a2a_contract.methods import METHODS
from a2a_runtime.http.negotiation import SupportedDialects, normalize_version

ALL = SupportedDialects((V1_0.name, V0_3.name, MESH.name))
NOT_FOUND = MethodNotFoundError
UNSUPPORTED = VersionNotSupportedError


def find_bindings(method: str, supported: SupportedDialects) -> tuple[AnyBinding, ...]:
    """Find the bindings of a method in the order of the parser."""
    return tuple(
        METHODS[each.name][method]
        for each in supported.dialects
        if method in METHODS.get(each.name, {})
    )


@pytest.mark.parametrize(
    ("version", "canonical", "of_0_3", "of_mesh", "shared"),
    [
        (None, "v1_0", "v0_3", "mesh", "v0_3"),
        ("1.0", "v1_0", NOT_FOUND, NOT_FOUND, NOT_FOUND),
        ("0.3", UNSUPPORTED, "v0_3", NOT_FOUND, "v0_3"),
        ("2.0", UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED),
    ],
    ids=["no version", "1.0", "0.3", "another"],
)
def test_method_and_version_select_the_dialect(
    version: str | None, canonical: object, of_0_3: object, of_mesh: object, shared: object
) -> None:
    """Every cell: the dialect that responds, or the error."""
    methods = {
        "SendMessage": canonical,
        "message/send": of_0_3,
        "tasks/send": of_mesh,
        "tasks/get": shared,
    }
    for method, expected in methods.items():
        bindings = find_bindings(method, ALL)
        if isinstance(expected, str):
            assert bindings[ALL.select_bindings(version, bindings)[0]].dialect == expected, method
        else:
            assert isinstance(expected, type)
            assert issubclass(expected, A2AError)
            with pytest.raises(expected):
                ALL.select_bindings(version, bindings)


@pytest.mark.parametrize(
    ("version", "dialect", "is_answered"),
    [
        (None, "v1_0", True),
        (None, "v0_3", True),
        ("1.0", "v1_0", True),
        ("1.0", "v0_3", False),
        ("0.3", "v1_0", False),
        ("0.3", "v0_3", True),
        ("0.3", "v0_3_proto", True),
        ("9.9", "v1_0", False),
    ],
)
def test_path_and_version_must_match(
    version: str | None,
    dialect: str,
    is_answered: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A path belongs to a dialect, which responds to the versions in its column."""
    if is_answered:
        ALL.check_version(version, dialect)
    else:
        with pytest.raises(VersionNotSupportedError):
            ALL.check_version(version, dialect)


def test_a_shared_method_without_0_3_belongs_to_mesh() -> None:
    """On a surface without 0.3, the methods of both dialects are those of mesh."""
    supported = SupportedDialects((V1_0.name, MESH.name))
    bindings = find_bindings("tasks/get", supported)
    assert bindings[supported.select_bindings(None, bindings)[0]].dialect == MESH.name


def test_an_unsupported_version_is_refused_with_the_list() -> None:
    """A surface with 0.3 alone does not support 1.0."""
    with pytest.raises(VersionNotSupportedError) as refused:
        SupportedDialects((V0_3.name,)).for_version("1.0")
    assert refused.value.details == {"supported_versions": "0.3"}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.0", "1.0"),
        ("1.0.3", "1.0"),
        (" 0.3 ", "0.3"),
        ("0.3.0", "0.3"),
        ("", None),
        (None, None),
        ("1", "1"),
        ("  ", None),
    ],
)
def test_versions_are_normalized(text: str | None, version: str | None) -> None:
    """Only major and minor count, and an empty version is none."""
    assert normalize_version(text) == version


def test_a_dialect_includes_its_forms() -> None:
    """A surface with 0.3 supports both of its forms."""
    assert [each.name for each in SupportedDialects((V0_3.name,)).dialects] == [
        V0_3.name,
        V0_3_PROTO.name,
    ]


@pytest.mark.parametrize(
    ("dialects", "version", "readers", "expected"),
    [
        (("v1_0", "v0_3"), None, ("v1_0", "v0_3"), None),
        (("v1_0", "v0_3"), "1.0", ("v1_0", "v0_3"), "v1_0"),
        (("v1_0", "v0_3"), "0.3", ("v1_0", "v0_3"), "v0_3"),
        (("v1_0", "v0_3"), None, ("v0_3", "mesh"), "v0_3"),
        (("v1_0", "v0_3", "mesh"), None, ("v0_3", "mesh"), "mesh"),
        (("v1_0",), None, ("v0_3", "mesh"), None),
    ],
    ids=[
        "shared path",
        "1.0 named",
        "0.3 named",
        "old path",
        "old path of mesh",
        "old path of 1.0 alone",
    ],
)
def test_path_and_version_select_a_card(
    dialects: tuple[str, ...], version: str | None, readers: tuple[str, ...], expected: str | None
) -> None:
    """A version has its own card; without one the card depends on the dialects whose clients read
    the path.
    """
    assert SupportedDialects(dialects).card_dialect(version, readers) == expected
