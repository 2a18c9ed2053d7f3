"""A value that is needed as a model here and as JSON there, and made into the other at most once."""

from typing import Generic, TypeVar

from .model import WireModel

T = TypeVar("T", bound=WireModel)
M = TypeVar("M", bound=WireModel)


class Encoded(Generic[T]):
    """A model, its JSON, or both; whichever is asked for first and not there is made from the other."""

    __slots__ = ("_json", "_model", "_type")

    def __init__(self, of: type[T], model: T | None, json: bytes | None) -> None:
        self._type, self._model, self._json = of, model, json

    @staticmethod
    def of(model: M) -> "Encoded[M]":
        """Start from a model."""
        return Encoded(type(model), model, None)

    @staticmethod
    def raw(of: type[M], json: bytes) -> "Encoded[M]":
        """Start from JSON that was written by a model of this type."""
        return Encoded(of, None, json)

    @property
    def model(self) -> T:
        """The value as a model."""
        if self._model is None:
            self._model = self._type.model_validate_json(self._json or b"")
        return self._model

    @property
    def json(self) -> bytes:
        """The value as JSON."""
        if self._json is None:
            self._json = self.model.to_json()
        return self._json

    def __repr__(self) -> str:
        return f"Encoded({self._type.__name__})"
