"""The forms in which a report is shown. Each is a function from a report to a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from a2a_gen.diff.formats import github, json_report, junit, markdown, sarif, singleline, text
from a2a_gen.diff.report import Report

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {
        "text": text.write,
        "json": json_report.write,
        "markdown": markdown.write,
        "github": github.write,
        "sarif": sarif.write,
        "junit": junit.write,
        "singleline": singleline.write,
    }
)
