"""Files of 0.3 over HTTP+JSON and gRPC whose bytes are encoded twice, as a variant of the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_contract.binding import AnyBinding
from a2a_runtime.features.double_base64.codec import decode_once, encode_files_twice
from a2a_runtime.ports.wire_variant import WireVariant

if TYPE_CHECKING:
    from a2a_runtime.service.context import ProtocolBinding


class DoubleBase64(WireVariant):
    """Reads and writes the bytes of files as a2a-sdk 0.3 for Python; no request shows who sent
    it.
    """

    key = "double_base64"

    def read_body(self, body: bytes, protocol: ProtocolBinding) -> bytes:  # noqa: ARG002 - the same in both
        """Decode the bytes of all files once."""
        return decode_once(body)

    def bind(self, binding: AnyBinding, protocol: ProtocolBinding) -> AnyBinding:  # noqa: ARG002 - as above
        """Encode the bytes of all files in results once more."""
        return encode_files_twice(binding)
