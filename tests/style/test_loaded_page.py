"""The page about what an agent loads, beside the code."""

from __future__ import annotations

import pytest
from style import loaded_page
from style.density import CORE
from style.rooms_drawing import list_features, read_layers


@pytest.mark.skipif("sys.version_info[:2] != (3, 11)", reason="other versions load other modules")
def test_sizes_of_the_page_are_those_of_the_code() -> None:
    """A number of the page is at most a tenth off; `make build` writes the page again."""
    page = loaded_page.PAGE.read_text(encoding="utf-8")
    assert loaded_page.find_stale(page, loaded_page.page_with_sizes(page)) == []


def test_every_room_beyond_the_core_says_what_loads_it() -> None:
    """A new feature is on the page, and one that is gone is not."""
    rooms = {room for layer in read_layers() for room in layer}
    beyond = rooms - CORE - {"features", "testing"}
    assert loaded_page.WANTED.keys() == beyond | set(list_features())


@pytest.mark.parametrize(
    ("page", "is_stale"),
    [
        ("| `grpc` | 10 | 7,200 |", False),
        ("| `grpc` | 11 | 7,800 |", False),
        ("| `grpc` | 10 | 9,900 |", True),
        ("| `mesh` | 10 | 7,200 |", True),
        ("", True),
    ],
)
def test_a_line_is_stale_with_other_words_or_far_numbers(page: str, *, is_stale: bool) -> None:
    """Small changes of the code leave the page as it is; large ones and new rooms do not."""
    assert bool(loaded_page.find_stale(page, "| `grpc` | 10 | 7,200 |")) is is_stale
