"""Enumerations of words: closed ones, and open ones that keep a word they do not know."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Self


class WireEnum(StrEnum):
    """A word of a closed list, which readers also take by its number or by an older spelling."""

    __reads__: ClassVar[Mapping[str | int, str]] = {}
    """What else readers take, and the word that it stands for."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        # By exact type: True is equal to 1, and yet no number of a word.
        word = cls.__reads__.get(value) if type(value) is str or type(value) is int else None
        return None if word is None else cls(word)


class OpenEnum(WireEnum):
    """A word of a list that may grow: an unknown word is kept as it is, for as long as someone holds on to it."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        known = super()._missing_(value)
        if known is not None or not isinstance(value, str):
            return known
        # Not entered into the enumeration: words come from strangers, and the enumeration lives for ever.
        unknown = str.__new__(cls, value)
        unknown._name_ = value
        unknown._value_ = value
        return unknown

    @property
    def is_known(self) -> bool:
        """Whether the contract lists this word."""
        return type(self)._value2member_map_.get(self._value_) is self
