"""Documents of a contract."""

from pathlib import Path

import pytest

from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.documents import load_documents


def read_only_problem(root: Path) -> Problem:
    """Read a folder with exactly one problem."""
    with pytest.raises(ContractError) as raised:
        load_documents(root)
    assert len(raised.value.problems) == 1
    return raised.value.problems[0]


def test_reads_every_file(tmp_path: Path) -> None:
    """Files in all folders but the examples are read, sorted by path."""
    for path in ("z.json", "a/b.json", "examples/no.json", ".hidden/no.json", "a/no.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text('{"a": 1}')
    assert list(load_documents(tmp_path)) == ["a/b.json", "z.json"]


def test_place(tmp_path: Path) -> None:
    """A place has the line of its value, and for a missing value the line of its parent."""
    (tmp_path / "a.json").write_text('{\n "a": {\n  "b": 1\n }\n}')
    document = load_documents(tmp_path)["a.json"]
    assert document.place_at("/a/b") == Place("a.json", 3, "/a/b")
    assert document.place_at("/a/c/d") == Place("a.json", 2, "/a/c/d")


def test_keeps_numbers(tmp_path: Path) -> None:
    """An integer keeps all its digits, and a fraction its value."""
    (tmp_path / "a.json").write_text(f"[{'9' * 4000}, 1.5]")
    assert load_documents(tmp_path)["a.json"].data == [int("9" * 4000), 1.5]


@pytest.mark.parametrize(
    ("content", "rule", "line", "words"),
    [
        pytest.param(b'{\n"a": }', "A2A-S06", 2, "expecting value at column 6", id="broken"),
        pytest.param(b"", "A2A-S06", 1, "expecting value", id="empty"),
        pytest.param(b'{"a": 1,\n"\xff": 2}', "A2A-S04", 2, "byte 10 is not UTF-8", id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", "A2A-S05", 1, "byte order mark", id="byte order mark"),
        pytest.param(
            b'{"a": 1,\n"b": 2,\n"a": 3}', "A2A-S07", 3, 'duplicate key "a"', id="key twice"
        ),
        pytest.param(
            b"[" * 100_000 + b"]" * 100_000, "A2A-S08", 0, "nested too deeply", id="nested"
        ),
        pytest.param(b"[NaN]", "A2A-S09", 0, "NaN", id="NaN"),
        pytest.param(b"[1e999]", "A2A-S09", 0, "1e999 is too large", id="too large"),
        pytest.param(
            b"[" + b"9" * 5000 + b"]", "A2A-S09", 0, "cannot be represented", id="too long"
        ),
    ],
)
def test_invalid_json(tmp_path: Path, content: bytes, rule: str, line: int, words: str) -> None:
    """Invalid JSON is reported with its line."""
    (tmp_path / "a.json").write_bytes(content)
    problem = read_only_problem(tmp_path)
    assert (problem.rule, problem.place.file, problem.place.line) == (rule, "a.json", line)
    assert words in problem.text


def test_every_duplicate_key(tmp_path: Path) -> None:
    """Every duplicate key is reported with its pointer."""
    (tmp_path / "a.json").write_text('{"a": {"b": 1, "b": 2}, "c/d": 1, "c/d": 2}')
    with pytest.raises(ContractError) as raised:
        load_documents(tmp_path)
    assert [problem.place.pointer for problem in raised.value.problems] == ["/a/b", "/c~1d"]


def test_all_files_at_once(tmp_path: Path) -> None:
    """The problems of all files are reported together, sorted by file."""
    for name in ("b.json", "a.json"):
        (tmp_path / name).write_text("{")
    with pytest.raises(ContractError) as raised:
        load_documents(tmp_path)
    assert [problem.place.file for problem in raised.value.problems] == ["a.json", "b.json"]


def test_no_folder(tmp_path: Path) -> None:
    """A missing folder is a problem."""
    assert read_only_problem(tmp_path / "schema").rule == "A2A-S01"


@pytest.mark.parametrize("name", ["file.json", "folder"])
def test_link_out(tmp_path: Path, name: str) -> None:
    """A link that leads out of the folder is refused."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file.json").write_text("{}")
    (tmp_path / "schema").mkdir()
    target = tmp_path / "outside" / ("file.json" if name == "file.json" else "")
    (tmp_path / "schema" / name).symlink_to(target)
    assert read_only_problem(tmp_path / "schema").rule == "A2A-S02"


def test_link_inside(tmp_path: Path) -> None:
    """A link to a file inside the folder is read."""
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    assert list(load_documents(tmp_path)) == ["a.json", "b.json"]


def test_unreadable(tmp_path: Path) -> None:
    """A file that cannot be read is a problem, not a crash."""
    (tmp_path / "a.json").symlink_to(tmp_path / "nothing.json")
    assert read_only_problem(tmp_path).rule == "A2A-S03"
