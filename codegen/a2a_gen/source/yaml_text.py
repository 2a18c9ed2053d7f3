"""YAML restricted to JSON values, with the line of every value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from a2a_gen.problems import MissingExtraError
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import (
    Json,
    ParseProblem,
    build_duplicate_key_problem,
    build_nesting_problem,
    escape_key,
    find_unsupported_values,
)

try:
    import yaml
except ImportError:
    raise MissingExtraError("pyyaml") from None

_JSON_TAGS: Mapping[str, Callable[[str], Json]] = {
    "tag:yaml.org,2002:null": lambda _: None,
    "tag:yaml.org,2002:bool": lambda text: text.lower() in {"true", "yes", "on"},
    "tag:yaml.org,2002:int": lambda text: int(text, 0),
    "tag:yaml.org,2002:float": float,
}
_MERGE_TAG = "tag:yaml.org,2002:merge"

# Values repeated by aliases: ten aliases of ten aliases, nested nine times, would be a thousand
# million values.
_MAX_REPEATED_VALUES = 10_000


class YamlDocument(Document):
    """A YAML document."""

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every value, by JSON pointer."""
        root = yaml.compose(self.text, Loader=yaml.SafeLoader)
        if root is None:
            return {}
        return dict(_iter_lines(root, ""))


class _NotJsonError(Exception):
    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def parse(text: str) -> tuple[Json, tuple[ParseProblem, ...]]:
    """Parse a YAML text; dates stay strings, and values that JSON lacks are problems."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return None, ()
        reader = _ValueReader()
        data = reader.read(root, frozenset())
        return data, (
            *reader.problems,
            *find_unsupported_values(data, lambda: dict(_iter_lines(root, ""))),
        )
    except RecursionError:
        return None, (build_nesting_problem(),)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return None, (
            ParseProblem(
                "A2A-S06",
                f"invalid YAML: {error.problem}",
                "correct the syntax at this place",
                line=line,
            ),
        )
    except yaml.YAMLError as error:
        return None, (ParseProblem("A2A-S06", f"invalid YAML: {error}", "save it as UTF-8 text"),)
    except _NotJsonError as error:
        return None, (
            ParseProblem("A2A-S06", str(error), "write only values that JSON has", line=error.line),
        )


class _ValueReader:
    """Converts YAML nodes to values; an aliased node once per use."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._repeat_count = 0
        self.problems: list[ParseProblem] = []
        """Duplicate keys."""

    def read(self, node: yaml.Node, above: frozenset[int]) -> Json:
        if id(node) in above:
            raise _NotJsonError("an alias refers to itself", _get_line(node))
        self._repeat_count += id(node) in self._seen
        if self._repeat_count > _MAX_REPEATED_VALUES:
            raise _NotJsonError(
                f"aliases repeat more than {_MAX_REPEATED_VALUES} values", _get_line(node)
            )
        if isinstance(node, yaml.MappingNode) and id(node) not in self._seen:
            self.problems += _find_duplicate_keys(node)
        self._seen.add(id(node))
        inside = above | {id(node)}
        match node:
            case yaml.MappingNode():
                return {_parse_key(key): self.read(value, inside) for key, value in node.value}
            case yaml.SequenceNode():
                return [self.read(each, inside) for each in node.value]
            case _:
                return _parse_scalar(node)


def _find_duplicate_keys(node: yaml.MappingNode) -> Iterator[ParseProblem]:
    seen: set[str] = set()
    for key, _ in node.value:
        if _parse_key(key) in seen:
            yield build_duplicate_key_problem(_parse_key(key), _get_line(key))
        seen.add(_parse_key(key))


def _parse_scalar(node: yaml.Node) -> Json:
    read = _JSON_TAGS.get(node.tag, str)
    try:
        value: Json = read(node.value)
    except ValueError:
        raise _NotJsonError(f"{node.value!r} is not a JSON number", _get_line(node)) from None
    return value


def _parse_key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _NotJsonError("a key is not a string", _get_line(node))
    if node.tag == _MERGE_TAG:
        raise _NotJsonError("the merge key << is not supported", _get_line(node))
    return str(node.value)


def _iter_lines(node: yaml.Node, pointer: str) -> Iterator[tuple[str, int]]:
    yield pointer, _get_line(node)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _iter_lines(value, f"{pointer}/{escape_key(_parse_key(key))}")
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _iter_lines(value, f"{pointer}/{index}")


def _get_line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
