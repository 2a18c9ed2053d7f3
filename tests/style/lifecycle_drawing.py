"""The drawing of a task's life, made from the table of states."""

from __future__ import annotations

import json
from pathlib import Path

from style.source_files import ROOT

PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- lifecycle: made from schema/lifecycle.json by tests/style/lifecycle_drawing.py -->\n"
END = "<!-- /lifecycle -->"


def draw_lifecycle(table: Path = ROOT / "schema" / "lifecycle.json") -> str:
    """Draw the states in boxes by their kind, and the steps between the boxes."""
    data = json.loads(table.read_bytes())
    kinds = {state["name"]: state["kind"] for state in data["states"]}
    steps = {(state["kind"], kinds[name]) for state in data["states"] for name in state["next"]}
    (last,) = {state["kind"] for state in data["states"] if not state["next"]}
    first, second = dict.fromkeys(kind for kind in kinds.values() if kind != last)
    upper = [_list_states(kinds, kind, data["initial"]) for kind in (first, second)]
    left = _draw_box(first, upper[0])
    right = _draw_box(second, upper[1])
    gap = " " * 7
    forth = " ────► " if (first, second) in steps else gap
    back = " ◄──── " if (second, first) in steps else gap
    middle = [gap, forth, back, *[gap] * len(left)]
    lines = [f"{one}{arrow}{other}" for one, arrow, other in zip(left, middle, right, strict=False)]
    below = [
        (len(left[0]) // 2, (first, last)),
        (len(left[0] + gap) + len(right[0]) // 2, (second, last)),
    ]
    for sign in "│▼":
        marks = [(place, sign) for place, step in below if step in steps]
        lines.append(
            "".join(dict(marks).get(column, " ") for column in range(len(lines[0]))).rstrip()
        )
    lines += _draw_box(last, ["   ".join(_list_states(kinds, last, ""))], len(lines[0]))
    return "\n".join(["```text", *lines, "```", ""])


def _list_states(kinds: dict[str, str], kind: str, initial: str) -> list[str]:
    """List the states of a kind, the initial one with a mark."""
    return [
        f"{name} (begins)" if name == initial else name
        for name, each in kinds.items()
        if each == kind
    ]


def _draw_box(title: str, lines: list[str], width: int = 0) -> list[str]:
    inner = max(width - 4, len(title) + 2, *map(len, lines))
    head = f"┌─ {title} {'─' * (inner - len(title) - 1)}┐"
    foot = f"└{'─' * (inner + 2)}┘"
    return [head, *(f"│ {line.ljust(inner)} │" for line in lines), foot]


def page_with_drawing(text: str) -> str:
    """Put the drawing into a page, between its marks."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}{draw_lifecycle()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_drawing(PAGE.read_text()))
