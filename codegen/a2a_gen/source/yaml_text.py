"""YAML as schemas are written in: the part of it that is JSON, with the line of every value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from a2a_gen.problems import MissingExtraError
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, Mistake, escaped, too_deep, unkeepable, written_twice

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
_MERGE = "tag:yaml.org,2002:merge"

# Values that stand there only by an alias: ten aliases of ten aliases, nine times, would be a thousand million.
_MOST_REPEATED = 10_000


class YamlDocument(Document):
    """A file in YAML."""

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every value, by its JSON pointer."""
        root = yaml.compose(self.text, Loader=yaml.SafeLoader)
        return {} if root is None else dict(_lines(root, ""))


class _NoJsonError(Exception):
    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def parse(text: str) -> tuple[Json, tuple[Mistake, ...]]:
    """Read a YAML text; dates stay text, and what JSON cannot say is a mistake."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return None, ()
        reader = _Reader()
        data = reader.value(root, frozenset())
        return data, (*reader.mistakes, *unkeepable(data, lambda: dict(_lines(root, ""))))
    except RecursionError:
        return None, (too_deep(),)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return None, (Mistake("A2A-S06", f"this is not YAML: {error.problem}", "correct the text at this place", line=line),)
    except yaml.YAMLError as error:
        return None, (Mistake("A2A-S06", f"this is not YAML: {error}", "save it as plain text in UTF-8"),)
    except _NoJsonError as error:
        return None, (Mistake("A2A-S06", str(error), "write only what JSON can say", line=error.line),)


class _Reader:
    """Reads the values of a text, each as often as aliases name it."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._repeated = 0
        self.mistakes: list[Mistake] = []
        """The keys that are written twice."""

    def value(self, node: yaml.Node, above: frozenset[int]) -> Json:
        if id(node) in above:
            raise _NoJsonError("an alias leads back into itself", _line(node))
        self._repeated += id(node) in self._seen
        if self._repeated > _MOST_REPEATED:
            raise _NoJsonError(f"aliases repeat more than {_MOST_REPEATED} values", _line(node))
        if isinstance(node, yaml.MappingNode) and id(node) not in self._seen:
            self.mistakes += _repeated(node)
        self._seen.add(id(node))
        inside = above | {id(node)}
        match node:
            case yaml.MappingNode():
                return {_key(key): self.value(value, inside) for key, value in node.value}
            case yaml.SequenceNode():
                return [self.value(each, inside) for each in node.value]
            case _:
                return _scalar(node)


def _repeated(node: yaml.MappingNode) -> Iterator[Mistake]:
    seen: set[str] = set()
    for key, _ in node.value:
        if _key(key) in seen:
            yield written_twice(_key(key), _line(key))
        seen.add(_key(key))


def _scalar(node: yaml.Node) -> Json:
    read = _JSON_TAGS.get(node.tag, str)
    try:
        value: Json = read(node.value)
    except ValueError:
        raise _NoJsonError(f"{node.value!r} is no number of JSON", _line(node)) from None
    return value


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _NoJsonError("a key is no text", _line(node))
    if node.tag == _MERGE:
        raise _NoJsonError("<< would put the members of one object into another", _line(node))
    return str(node.value)


def _lines(node: yaml.Node, pointer: str) -> Iterator[tuple[str, int]]:
    yield pointer, _line(node)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, f"{pointer}/{escaped(_key(key))}")
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _lines(value, f"{pointer}/{index}")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
