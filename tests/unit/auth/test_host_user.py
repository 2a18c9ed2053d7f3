"""Users of a host whose frameworks say in different ways that they are authenticated."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.auth.host import host_user


def build_connection(is_authenticated: object) -> Credentials:
    """Build a connection with a user in its scope."""
    scope: Any = {
        "headers": [],
        "user": SimpleNamespace(id="ada", is_authenticated=is_authenticated),
    }
    return Credentials(scope)


@pytest.mark.parametrize("answer", [True, False])
def test_a_member_and_a_method_mean_the_same(
    answer: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A method is called: by itself it is always true."""
    for member in (answer, lambda: answer):
        caller = host_user()(build_connection(member))
        assert (caller is not None) is answer


@pytest.mark.parametrize(
    "member",
    ["no", 1, None, lambda: None],
    ids=["text", "number", "none", "method without an answer"],
)
def test_what_is_no_bool_admits_no_user(member: object) -> None:
    """The error names the type and the cure."""
    with pytest.raises(
        TypeError,
        match=r"is_authenticated of SimpleNamespace is a \w+, not a bool; pass a function",
    ):
        host_user()(build_connection(member))
