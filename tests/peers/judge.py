"""Runs in the environment of an official SDK: reads documents with its types and writes them back,
one JSON line each.

Nothing of this project is importable here.
"""

import importlib
import json
import sys

MODULES = {"v1_0": "a2a.types.a2a_pb2", "v0_3": "a2a.types", "v0_3_proto": "a2a.grpc.a2a_pb2"}


def answer(question: dict) -> dict:
    """Read a document as the SDK reads it, and give what the SDK writes for it."""
    kind = getattr(importlib.import_module(MODULES[question["form"]]), question["type"])
    if question["form"] == "v0_3":
        pydantic = importlib.import_module("pydantic")
        adapter = pydantic.TypeAdapter(kind)
        model = adapter.validate_python(question["document"])
        # An answer's null id and null result mean something; everywhere else the SDK leaves out
        # what it has not.
        return {
            "document": json.loads(
                adapter.dump_json(
                    model, by_alias=True, exclude_none=not question["type"].endswith("Response")
                )
            )
        }
    json_format = importlib.import_module("google.protobuf.json_format")
    message = json_format.ParseDict(question["document"], kind())
    return {"document": json_format.MessageToDict(message)}


def main() -> None:
    """Answer until there are no more questions."""
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises is its refusal
            reply = {"refused": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
