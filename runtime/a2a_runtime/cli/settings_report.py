"""Settings of a process as ``--show-settings`` prints them: name, value, source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from a2a_runtime.cli.process import given_options
from a2a_runtime.cli.startup import InvalidConfigurationError
from a2a_runtime.features.project.loader import find_file_settings
from a2a_runtime.settings import (
    PREFIX,
    Settings,
    find_given,
    is_secret,
    list_settings,
    read_schema,
    to_variable,
)

_MASK = "***"
_DEFAULT = "default"


def describe_settings(environment: Mapping[str, str]) -> str:
    """Describe every setting, one in a line; raise the error of settings that cannot be used."""
    try:
        settings = Settings.from_environment(environment)
        in_file = find_file_settings(Path.cwd())
        rows = [*_list_rows(settings, in_file, environment), *_list_others(environment)]
    except ValueError as error:
        raise InvalidConfigurationError(str(error)) from error
    name_width = max(len(name) for name, _, _ in rows)
    value_width = max(len(value) for _, value, _ in rows)
    return "\n".join(
        f"{name:{name_width}}  {value:{value_width}}  {source}" for name, value, source in rows
    )


def _list_rows(
    settings: Settings, in_file: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    for name, facts in list_settings().items():
        value = getattr(settings, name)
        given = find_given(environment, name)
        source = _DEFAULT if given is None else given_options.get(name, given.source)
        if in_file.get(name) is not None and value == _to_default(facts):
            value = in_file[name]
            source = "a2a.toml"
        yield (
            to_variable(name),
            _render(value, is_masked=is_secret(name) and value != _to_default(facts)),
            source,
        )


def _list_others(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """List the variables of other parts that are set."""
    for name, facts in read_schema()["$defs"]["OtherVariables"]["properties"].items():
        variable = PREFIX + name.upper()
        if variable in environment:
            yield (
                variable,
                _render(environment[variable], is_masked=bool(facts.get("writeOnly"))),
                variable,
            )


def _to_default(facts: Mapping[str, Any]) -> object:
    default = facts["default"]
    if isinstance(default, list):
        return tuple(cast("list[object]", default))
    return default


def _render(value: object, *, is_masked: bool) -> str:
    if is_masked:
        return _mask(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _mask(value: object) -> str:
    if isinstance(value, str):
        scheme, separator, _ = value.partition("://")
        # of an address, the kind may be shown
        if separator:
            return f"{scheme}{separator}{_MASK}"
    return _MASK
