"""Output formats. Each is a function from a report to a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from a2a_gen.diff.formats import github, json_report, junit, markdown, sarif, singleline, text
from a2a_gen.diff.report import Report

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {
        "text": text.render,
        "json": json_report.render,
        "markdown": markdown.render,
        "github": github.render,
        "sarif": sarif.render,
        "junit": junit.render,
        "singleline": singleline.render,
    }
)
