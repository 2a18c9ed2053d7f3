"""Consumption of a task: tokens and cost as its handlers report them, summed over all of its runs.

    ctx.usage(input_tokens=900, output_tokens=120, cost=0.004)    any number of times
    task.metadata["urn:a2a-gen:ext:usage:1"]                      the sum, written with the task's
                                                                  next change

A run that is repeated after a crash has consumed again, so it counts again; what ``ctx.once`` has
recorded is not called again, and counts once.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from pydantic import ValidationError

from a2a_contract.base import JsonObject
from a2a_contract.extensions import Cost, Usage, UsageParams

USAGE: str = UsageParams.model_fields["member"].default
"""Member of the metadata of a task."""

DEFAULT_CURRENCY = "USD"
_DIGITS = 9
"""Digits of an amount: sums of many small ones would end in noise."""


class UsageReport(NamedTuple):
    """One report of a handler."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    currency: str = DEFAULT_CURRENCY

    def check(self) -> None:
        """Refuse what cannot have been consumed."""
        if any(
            type(each) is not int or each < 0 for each in (self.input_tokens, self.output_tokens)
        ):
            raise ValueError(
                f"ctx.usage: {self.input_tokens!r} and {self.output_tokens!r} are not "
                "numbers of tokens; report integers from 0"
            )
        if not isfinite(self.cost) or self.cost < 0:
            raise ValueError(f"ctx.usage: {self.cost!r} is not a cost; report an amount from 0")
        if not (
            len(self.currency) == len(DEFAULT_CURRENCY)
            and self.currency.isascii()
            and self.currency.isupper()
        ):
            raise ValueError(
                f"ctx.usage: {self.currency!r} is not a currency; report its code, such as "
                f"{DEFAULT_CURRENCY!r}"
            )


def read_usage(metadata: Mapping[str, object] | None) -> Usage | None:
    """Read the consumption in the metadata of a task, or of a message; ``None`` without one."""
    if not metadata or USAGE not in metadata:
        return None
    try:
        return Usage.model_validate(metadata[USAGE])
    except ValidationError:
        return None


def add_usage(total: Usage | None, report: UsageReport) -> Usage:
    """Add a report to a sum."""
    if total is None:
        total = Usage(input_tokens=0, output_tokens=0)
    costs = {each.currency: each.amount for each in total.costs or ()}
    if report.cost:
        costs[report.currency] = round(float(costs.get(report.currency, 0)) + report.cost, _DIGITS)
    return Usage(
        input_tokens=report.input_tokens + total.input_tokens,
        output_tokens=report.output_tokens + total.output_tokens,
        costs=[Cost(currency=currency, amount=amount) for currency, amount in costs.items()]
        or None,
    )


def to_metadata(usage: Usage) -> JsonObject:
    """Build the member of the metadata."""
    return {USAGE: usage.to_dict()}
