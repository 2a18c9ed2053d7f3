"""Texts of messages and artifacts: the one place that says how their parts become a text."""

from __future__ import annotations

from collections.abc import Iterable

from a2a_contract.v1_0 import Artifact, Message, Part


def join_texts(content: Message | Artifact | None) -> str:
    """Join the text parts of a message, or of an artifact; empty without any."""
    if content is None:
        return ""
    return join_text_parts(content.parts, are_chunks=isinstance(content, Artifact))


def join_text_parts(parts: Iterable[Part], *, are_chunks: bool) -> str:
    """Join text parts.

    Those of an artifact are the chunks of one text; those of a message are its lines.
    """
    separator = "" if are_chunks else "\n"
    return separator.join([part.text for part in parts if part.text is not None])
