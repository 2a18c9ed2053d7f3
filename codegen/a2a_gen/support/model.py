"""Base classes of every generated model, their enumerations, and lazily encoded values.

    WireModel     wire names in JSON, Python names in Python; unknown members are ignored; frozen
    ├── OpenModel keeps unknown members, as free JSON
    └── Oneof     exactly one member of a group is present

``model_copy(update=...)`` does not validate; construct a new object from values of other origins.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from .scalars import JSON_NULL, JsonAny


class WireModel(BaseModel):
    """A JSON object of a protocol. None is an absent member, and is never written."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        val_json_bytes="base64",
        allow_inf_nan=False,
        protected_namespaces=(),
    )

    def to_json(self) -> bytes:
        """Serialize the object as JSON."""
        # Straight from Pydantic's serializer: `model_dump_json` decodes the bytes to text, which
        # every caller would encode again.
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_none=True)

    def to_dict(self) -> dict[str, object]:
        """Convert the object to the Python form of its JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @classmethod
    def wire_name(cls, member: str) -> str:
        """Return the wire name of a member."""
        return cls.model_fields[member].serialization_alias or member


class OpenModel(WireModel):
    """A JSON object that keeps unknown members, in `model_extra`."""

    model_config = ConfigDict(extra="allow")

    # Pydantic documents this way to give extras a type.
    __pydantic_extra__: dict[str, JsonAny]  # pyright: ignore[reportIncompatibleVariableOverride]


class Oneof(WireModel):
    """A JSON object that has exactly one of some members; None counts as absent."""

    __oneof__: ClassVar[frozenset[str]] = frozenset()
    """The members, by their Python names."""
    __oneof_is_optional__: ClassVar[bool] = False
    """True if none of them is accepted too: writers send it where their dialect has no member for a
    value.
    """

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        values = self.__dict__
        present = 0
        for name in self.__oneof__:
            if values[name] is not None:
                present += 1
        if present != 1:
            self._settle(present)
        return self

    def _settle(self, present: int) -> None:
        """Accept None as the JSON value `null` where no other member is present; reject everything
        else.
        """
        fields = type(self).model_fields
        members = [name for name in fields if name in self.__oneof__]
        null = next(
            (
                name
                for name in members
                if fields[name].annotation is object and name in self.model_fields_set
            ),
            None,
        )
        if not present and self.__oneof_is_optional__:
            return
        if present or null is None:
            names = ", ".join(type(self).wire_name(name) for name in members)
            raise PydanticCustomError(
                "oneof", "Exactly one of {members} must be there", {"members": names}
            )
        # The model is frozen, and its construction goes on here.
        object.__setattr__(self, null, JSON_NULL)


# --- values that are a model, JSON, or both ---

T = TypeVar("T", bound=WireModel)
M = TypeVar("M", bound=WireModel)


class Encoded(Generic[T]):
    """A model, its JSON, or both; a missing form is computed from the other on first use."""

    __slots__ = ("_json", "_model", "_type")

    def __init__(
        self,
        of: type[T],
        json: bytes | tuple[bytes, ...] | Callable[[], bytes] | None,
        model: T | None = None,
    ) -> None:
        """Wrap JSON that a model of this type wrote, in one piece or several, a function that
        returns it when it is first needed, or a model.
        """
        self._type = of
        self._json = json
        self._model = model

    @staticmethod
    def of(model: M) -> "Encoded[M]":
        """Wrap a model."""
        return Encoded(type(model), None, model)

    @property
    def model(self) -> T:
        """Return the value as a model."""
        if self._model is None:
            self._model = self._type.model_validate_json(self.json)
        return self._model

    @property
    def json(self) -> bytes:
        """Return the value as JSON."""
        json = self._json
        if isinstance(json, bytes):
            return json
        if isinstance(json, tuple):
            json = b"".join(json)
        elif json is not None:
            json = json()
        else:
            json = b"" if self._model is None else self._model.to_json()
        self._json = json
        return json

    @property
    def pieces(self) -> tuple[bytes, ...]:
        """Return the value as JSON, in one or several pieces, which can be sent without a copy."""
        if isinstance(self._json, tuple):
            return self._json
        return (self.json,)

    def __repr__(self) -> str:
        return f"Encoded({self._type.__name__})"


# --- enumerations of words ---


class WireEnum(StrEnum):
    """A word of a closed list; readers also accept its number or an older spelling."""

    __reads__: ClassVar[Mapping[str | int, str]] = {}
    """Other accepted values, with the word of each."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        # By exact type: True equals 1 but is no number of a word.
        word = cls.__reads__.get(value) if type(value) is str or type(value) is int else None
        if word is None:
            return None
        return cls(word)


class OpenEnum(WireEnum):
    """A word of a list that may grow: an unknown word is kept as it is, for the lifetime of its
    references.
    """

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        known = super()._missing_(value)
        if known is not None or not isinstance(value, str):
            return known
        # Not entered into the enumeration: words come from untrusted callers, and the enumeration
        # is never freed.
        unknown = str.__new__(cls, value)
        unknown._name_ = value
        unknown._value_ = value
        return unknown

    @property
    def is_known(self) -> bool:
        """Check that the contract lists this word."""
        return self._value_ in type(self)._value2member_map_
