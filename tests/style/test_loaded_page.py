"""The page about what an agent loads, beside the code."""

from __future__ import annotations

import pytest
from style import loaded_page


@pytest.mark.skipif("sys.version_info[:2] != (3, 11)", reason="other versions load other modules")
def test_sizes_of_the_page_are_those_of_the_code() -> None:
    """A number of the page is at most a tenth off; `make build` writes the page again."""
    page = loaded_page.PAGE.read_text(encoding="utf-8")
    assert loaded_page.find_stale(page, loaded_page.page_with_sizes(page)) == []


def test_every_room_beyond_the_core_names_what_loads_it() -> None:
    """The docstring of its package has the sentence, "Loaded where …"."""
    rooms = loaded_page.list_rooms()
    assert [room for room in rooms if not loaded_page.find_reason(room)] == []


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
