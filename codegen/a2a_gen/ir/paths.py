"""From path templates to routes.

Two ways of writing a path mean the same route: ``/tasks/{id}`` names the request's member, and ``/{name=tasks/*}`` makes the member of the whole
piece of the path. Both become segments with numbered parameters, and for each member the pieces that it is joined from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from a2a_gen.ir.model import HttpPath, PathField

_PIECE = re.compile(r"\{(?P<member>[^{}=]+)(?:=(?P<template>[^{}]*))?\}|[^/{}]+")
_VERB = re.compile(r"(?P<path>.*):(?P<verb>[A-Za-z]+)")
_ANY_SEGMENT = "*"


def http_paths(rows: tuple[str, ...], prefixes: tuple[str, ...]) -> Iterator[HttpPath]:
    """Read the rows ``METHOD /path`` of an operation, each below every prefix of its dialect."""
    for row in rows:
        method, _, path = row.partition(" ")
        for prefix in prefixes:
            yield _http_path(method, prefix + path)


def _http_path(method: str, full: str) -> HttpPath:
    split = _VERB.fullmatch(full)
    path, verb = (split["path"], split["verb"]) if split else (full, None)
    segments: list[str | int] = []
    fields: list[PathField] = []
    parameters = 0
    for piece in _PIECE.finditer(path):
        member, words = piece["member"], (piece["template"] or _ANY_SEGMENT).split("/") if piece["member"] else [piece.group()]
        pieces: list[str | int] = []
        for word in words:
            is_parameter = member is not None and word == _ANY_SEGMENT
            pieces.append(parameters if is_parameter else word)
            parameters += is_parameter
        segments.extend(pieces)
        if member is not None:
            fields.append(PathField(member, tuple(pieces)))
    return HttpPath(method, full, tuple(segments), verb, tuple(fields))
