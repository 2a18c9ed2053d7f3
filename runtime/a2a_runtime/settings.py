"""Operator settings: the dataclass that is generated from their schema, read from the environment
and checked; times are in seconds.

Every setting can be given in the environment, as its name in capitals after ``A2A_``:
``A2A_STORE=postgresql://…``, ``A2A_SHUTDOWN_GRACE=60``. A list is separated by commas:
``A2A_OUTBOUND_PORTS=443,8443``. A secret can be in a file:
``A2A_ENCRYPTION_KEYS_FILE=/run/secrets/keys``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import a2a_contract
from a2a_contract.config_schema import check_values
from a2a_contract.operator_settings import OperatorSettings

log = logging.getLogger(__name__)

PREFIX = "A2A_"
FILE_SUFFIX = "_FILE"
"""End of the variable that names the file of a secret."""

Value: TypeAlias = str | int | float | tuple[str, ...] | tuple[int, ...]

_SIMILARITY = 0.8
"""``difflib`` ratio from which an unknown name is a misspelled setting."""


@dataclass(frozen=True, slots=True)
class Settings(OperatorSettings):
    """Settings of one process."""

    def __post_init__(self) -> None:
        found = check_values(asdict(self), read_schema())
        problems: list[str] = []
        for each in found:
            name = to_variable(str(each.path[0])) if each.path else "settings"
            problems.append(f"{name}: {each.text}; {each.cure}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings in an environment; one error lists all that cannot be read and all that
        cannot work.
        """
        problems = [*_check_names(environment)]
        values: dict[str, Any] = {}
        for name, facts in list_settings().items():
            try:
                if (given := find_given(environment, name)) is not None:
                    values[name] = _parse(given.text, facts)
            except ValueError as error:
                problems.append(f"{to_variable(name)}: {error}")
        try:
            settings = cls(**values)
        except ValueError as error:
            raise ValueError("; ".join((*problems, str(error)))) from error
        if problems:
            raise ValueError("; ".join(problems))
        return settings


class GivenSetting(NamedTuple):
    """Text of a setting in the environment, and where it comes from."""

    text: str
    source: str


def find_given(environment: Mapping[str, str], name: str) -> GivenSetting | None:
    """Find a setting in an environment, or in the file that it names; raise ``ValueError`` for a
    file that cannot be read.
    """
    variable = to_variable(name)
    at_file = variable + FILE_SUFFIX
    if not is_secret(name) or at_file not in environment:
        if variable in environment:
            return GivenSetting(environment[variable], variable)
        return None
    if variable in environment:
        raise ValueError(f"{at_file} is set too; unset one of them")
    try:
        return GivenSetting(
            Path(environment[at_file]).read_text(encoding="utf-8").strip(),
            f"{at_file}={environment[at_file]}",
        )
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{at_file} cannot be read: {error}; name a file with the value") from None


def read_setting(environment: Mapping[str, str], name: str) -> Value:
    """Read one setting before the others are; raise ``ValueError`` for a value that it cannot
    have.
    """
    facts = list_settings()[name]
    given = find_given(environment, name)
    if given is None:
        default: Value = facts["default"]
        return default
    try:
        value = _parse(given.text, facts)
        values: dict[str, Any] = {name: value}
        Settings(**values)
    except ValueError as error:
        text = str(error)
        if not text.startswith(to_variable(name)):
            text = f"{to_variable(name)}: {text}"
        raise ValueError(text) from error
    return value


def to_variable(name: str) -> str:
    """Name the environment variable of a setting."""
    return PREFIX + name.upper()


@cache
def read_schema() -> Mapping[str, Any]:
    """Read the schema of the settings."""
    path = Path(a2a_contract.__file__).parent / "schemas" / "settings.json"
    schema: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def list_settings() -> Mapping[str, Mapping[str, Any]]:
    """List the settings by name, each with its schema."""
    settings: Mapping[str, Mapping[str, Any]] = read_schema()["properties"]
    return settings


def is_secret(name: str) -> bool:
    """Tell whether the value of a setting may not be shown."""
    return bool(list_settings()[name].get("writeOnly", False))


def _check_names(environment: Mapping[str, str]) -> Iterator[str]:
    """List misspelled settings; log the other unknown variables once, since an orchestrator may
    inject some (``A2A_SERVICE_HOST``).
    """
    others = read_schema()["$defs"]["OtherVariables"]["properties"]
    tables = {**list_settings(), **others}
    files = [
        to_variable(name) + FILE_SUFFIX for name, facts in tables.items() if facts.get("writeOnly")
    ]
    known = [*map(to_variable, tables), *files]
    suggested = [*map(to_variable, list_settings()), *files]
    unknown: list[str] = []
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name in known:
            continue
        if similar := get_close_matches(
            name.removeprefix(PREFIX),
            [each.removeprefix(PREFIX) for each in suggested],
            1,
            _SIMILARITY,
        ):
            yield f"{name}: unknown setting; did you mean {PREFIX}{similar[0]}?"
        else:
            similar = get_close_matches(name.removeprefix(PREFIX), map(str.upper, tables), 1)
            guess = f" (did you mean {PREFIX}{similar[0]}?)" if similar else ""
            unknown.append(f"{name}{guess}")
    if unknown:
        log.warning("settings: unknown variables ignored: %s", ", ".join(unknown))


def _parse(text: str, facts: Mapping[str, Any]) -> Value:
    """Parse the text of a variable; raise ``ValueError`` that says what it is not."""
    is_list = "items" in facts
    described = facts["items"] if is_list else facts
    parse, article, noun = _PARSERS[described["type"]]
    parts = [text]
    if is_list:
        parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        values = tuple(parse(part) for part in parts)
    except ValueError:
        expected = f"a list of {noun}s" if is_list else f"{article} {noun}"
        raise ValueError(f"{text!r} is not {expected}") from None
    if is_list:
        return values
    value: Value = values[0]
    return value


def _parse_integer(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise ValueError(text)
    return int(text)


def _parse_number(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _parse_bool(text: str) -> bool:
    if (value := _BOOLEANS.get(text.lower())) is None:
        raise ValueError(text)
    return value


_BOOLEANS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
    "": False,
}
_PARSERS: Mapping[str, tuple[Callable[[str], Any], str, str]] = {
    "string": (str, "a", "text"),
    "integer": (_parse_integer, "an", "integer"),
    "number": (_parse_number, "a", "number"),
    "boolean": (_parse_bool, "a", "boolean"),
}
"""Parser of each JSON type, and its noun in an error."""
