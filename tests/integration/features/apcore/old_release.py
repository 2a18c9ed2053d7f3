"""A process that serves modules of an old release of the framework; the port is its argument."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from a2a_runtime.features.apcore import JWTAuthenticator, serve

apcore: Any = import_module("apcore")
apcore_errors: Any = import_module("apcore.errors")

KEY = "a secret of more than 32 bytes, for tests"


class Sum(BaseModel):
    """An input."""

    a: int
    b: int


class Total(BaseModel):
    """An output."""

    total: int


class Anything(BaseModel):
    """Any object."""

    model_config = {"extra": "allow"}


class Add:
    """Adds, and says who asked."""

    description = "Adds."
    tags = ["math"]  # noqa: RUF012
    input_schema = Sum
    output_schema = Anything
    annotations = apcore.ModuleAnnotations(readonly=True, idempotent=True)

    def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Add."""
        return {
            "total": inputs["a"] + inputs["b"],
            "by": context.identity.id,
            "claims": dict(context.identity.attrs),
        }


class Count:
    """Streams."""

    description = "Counts."
    input_schema = Total
    output_schema = Anything

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Count at once."""
        del context
        return {"numbers": list(range(inputs["total"]))}

    async def stream(self, inputs: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
        """Count in chunks."""
        del context
        for number in range(inputs["total"]):
            yield {"at": number}


class Wait:
    """Waits for its token."""

    description = "Waits."
    input_schema = Anything
    output_schema = Anything

    async def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Wait."""
        while not context.cancel_token.is_cancelled:  # noqa: ASYNC110 - a token has no event
            await asyncio.sleep(0.01)
        Path(inputs["file"]).write_text("canceled", encoding="utf-8")  # noqa: ASYNC240 - one word
        return {}


class Fail:
    """Raises."""

    description = "Fails."
    input_schema = Anything
    output_schema = Anything

    def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Fail."""
        raise ValueError(inputs, context, "/etc/passwd")


class Register:
    """Adds a module."""

    description = "Registers."
    input_schema = Anything
    output_schema = Anything

    def execute(self, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        """Register."""
        del inputs, context
        registry.register("more.count", Count())
        return {}


def build_executor() -> Any:
    """Build an executor with rules."""
    rules = [
        apcore.ACLRule(callers=["*"], targets=["secret.*"], effect="deny", description="secrets"),
        apcore.ACLRule(callers=["*"], targets=["*"], effect="allow", description="others"),
    ]
    return apcore.Executor(registry, acl=apcore.ACL(rules=rules))


registry: Any = apcore.Registry()

if __name__ == "__main__":
    modules = {
        "math.add": Add(),
        "count.up_to": Count(),
        "time.wait": Wait(),
        "error.raise": Fail(),
        "more.register": Register(),
        "secret.add": Add(),
    }
    for name, module in modules.items():
        registry.register(name, module)
    folder = Path(apcore.__file__).parents[1]
    print(  # noqa: T201
        next(
            (each.version for each in distributions(path=[str(folder)]) if each.name == "apcore"),
            apcore.__version__,
        ),
        flush=True,
    )
    auth = JWTAuthenticator(key=KEY, issuer="tests", audience="tools")
    serve(build_executor(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", auth=auth)
