"""Origin of a request: its id and trace, the agents that have led to it, and the time that its
caller waits.

    headers or metadata ──► HttpRequest ──► Origin ──► current_origin, in the request
                                                            │        and in every run that it starts
    headers or metadata ◄── client of a handler ◄───────────┤
    log lines           ◄── logs.add_origin     ◄───────────┘

The names of the headers are in ``schema/dialects.json``. Any client may send them, so they can only
refuse a message or end a task early; they
never permit anything.
A run of another process, or after a question, finds its origin in the record of the request.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from copy import copy
from math import inf, isfinite
from typing import Any, Self, TypeVar
from urllib.parse import quote, unquote

from a2a_contract.base import JsonObject
from a2a_contract.dialects import (
    CALLER_TIMEOUT,
    CHAIN_AGENTS,
    CHAIN_DEPTH,
    ON_DISCONNECT,
    REQUEST_ID,
    TRACE_PARENT,
    TRACE_STATE,
    Parameter,
)
from a2a_contract.errors import CallChainError, InvalidParamsError
from a2a_contract.json_types import is_json_array

T = TypeVar("T")

TRACE_MEMBER = "a2a-gen/traceparent"
"""Member of the metadata of a task with the trace of the request that has begun it, where traces
are on.
"""

CANCEL = "cancel"
"""Value of the header by which the task of a message is canceled when its sender has closed the
connection.
"""

_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_TRACE_PARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)
_TRACE_STATE = re.compile(r"[\x20-\x7e]{1,512}")
_MAX_AGENTS = 64
_MAX_NAME_CHARS = 100
_MAX_DEPTH_DIGITS = 6
_TRACE_ID = slice(3, 35)
_MAX_TIMEOUT_SECONDS = 1e9
"""About 32 years: longer times have no end that a date can name."""


def _no_time() -> float:
    return 0.0


def _encode_name(parameter: Parameter) -> bytes:
    return parameter.headers[0].lower().encode()


_NAMES = {
    each: _encode_name(each)
    for each in (
        REQUEST_ID,
        TRACE_PARENT,
        TRACE_STATE,
        CHAIN_AGENTS,
        CHAIN_DEPTH,
        CALLER_TIMEOUT,
        ON_DISCONNECT,
    )
}
HEADERS = frozenset(_NAMES.values())
"""The headers of an origin, in lower case."""


class Origin:
    """Origin of one request.

    Without headers it is made without a call of a function, and its id only when a log line needs
    it.
    """

    agent = ""
    """The name of the agent that was called."""
    operation = ""
    given_id = ""
    traceparent = ""
    tracestate = ""
    agents: tuple[str, ...] = ()
    """The agents that have led to the request, the first one first."""
    depth = 0
    timeout_seconds: float | None = None
    """Time that the caller waits for the task of its message."""
    deadline_millis: int | None = None
    """The end of this time, and of the time limit of a run."""
    is_canceled_on_disconnect = False
    is_traced = False
    """Set where this process records spans of it."""
    is_stored = False
    """Set where it comes from the record of a task."""
    problem: tuple[str, str] | None = None
    """Header that cannot be read, and why."""
    _made_id = ""

    @classmethod
    def parse(cls, headers: Mapping[bytes, bytes]) -> Self:
        """Read the headers of a request.

        An id or a trace of another form counts as none; what the chain cannot be read from is kept
        as a problem.
        """
        origin = cls()
        texts = {
            each: headers[name].decode("latin-1")
            for each, name in _NAMES.items()
            if name in headers
        }
        if _REQUEST_ID.fullmatch(given := texts.get(REQUEST_ID, "")):
            origin.given_id = given
        if _TRACE_PARENT.fullmatch(parent := texts.get(TRACE_PARENT, "")):
            origin.traceparent = parent
            if _TRACE_STATE.fullmatch(state := texts.get(TRACE_STATE, "")):
                origin.tracestate = state
        origin.is_canceled_on_disconnect = texts.get(ON_DISCONNECT, "").strip().lower() == CANCEL
        names = [
            unquote(each.strip())
            for each in texts.get(CHAIN_AGENTS, "").split(",", _MAX_AGENTS)
            if each.strip()
        ]
        origin.agents = tuple(each[:_MAX_NAME_CHARS] for each in names)
        origin._read_numbers(
            texts.get(CHAIN_DEPTH, "0").strip(), texts.get(CALLER_TIMEOUT, "").strip()
        )
        return origin

    def _read_numbers(self, depth: str, timeout: str) -> None:
        if depth.isascii() and depth.isdecimal() and len(depth) <= _MAX_DEPTH_DIGITS:
            self.depth = max(int(depth), len(self.agents))
        else:
            self.problem = (
                CHAIN_DEPTH.headers[0],
                "is not a number of agents; send an integer from 0",
            )
        if timeout:
            seconds = _parse_seconds(timeout)
            if seconds is None:
                self.problem = (
                    CALLER_TIMEOUT.headers[0],
                    "is not a time; send seconds above 0, such as 12.5",
                )
            self.timeout_seconds = seconds

    @classmethod
    def from_record(cls, record: JsonObject, agent: str) -> Self:
        """Read the origin of a task whose agent is run again; without a record only the agent is
        known.
        """
        origin = cls()
        origin.agent = agent
        origin.is_stored = True
        for name in ("given_id", "traceparent", "tracestate", "depth"):
            if name in record:
                setattr(origin, name, record[name])
        names = record.get("agents")
        origin.agents = tuple(map(str, names)) if is_json_array(names) else ()
        return origin

    @classmethod
    def begin(cls, agent: str) -> Self:
        """Begin a chain with the call of an agent."""
        origin = cls()
        origin.agent = agent
        return origin

    def to_record(self, now_millis: int) -> JsonObject:
        """Describe the origin for later runs."""
        deadline = None
        if self.timeout_seconds is not None:
            deadline = now_millis + round(self.timeout_seconds * 1000)
        record = {
            "given_id": self.given_id,
            "traceparent": self.traceparent,
            "tracestate": self.tracestate,
            "agents": [*self.agents],
            "depth": self.depth,
            DEADLINE: deadline,
        }
        return {name: value for name, value in record.items() if value}

    @property
    def request_id(self) -> str:
        """The id of the request, as its client has given it, or made."""
        return self.given_id or self._make_id()

    @property
    def trace_id(self) -> str:
        """The id of the trace, as it came, or made."""
        return self.traceparent[_TRACE_ID] or self._make_id()

    @property
    def task_metadata(self) -> JsonObject:
        """The metadata of the task that the request begins: where traces are on, webhooks find the
        trace there, also after the end of the task.
        """
        if self.is_traced:
            return {TRACE_MEMBER: self.traceparent}
        return {}

    def _make_id(self) -> str:
        if not self._made_id:
            self._made_id = secrets.token_hex(16)
        return self._made_id

    def check_chain(self, max_depth: int, *, allow_cycles: bool = False) -> None:
        """Refuse a message that closes a cycle of agents, unless it may, or comes at the end of too
        long a chain.
        """
        if self.problem is not None:
            raise InvalidParamsError(fields=(self.problem,))
        chain = " > ".join((*self.agents, self.agent))
        if self.agent in self.agents and not allow_cycles:
            raise CallChainError(
                f"Call chain: {self.agent} is in it already ({chain}); call another agent, "
                "or answer without one"
            )
        if self.depth >= max_depth:
            raise CallChainError(
                f"Call chain: {self.depth + 1} agents call each other ({chain}), and this "
                f"one allows {max_depth}; call fewer"
            )

    def call_next(self, agent: str) -> Origin:
        """Build the origin of a call that this agent makes."""
        following = Origin()
        following.agent = agent
        following.given_id = self.request_id
        following.traceparent = self.traceparent
        following.tracestate = self.tracestate
        following.agents = self._extend_chain()
        following.depth = self.depth + 1
        return following

    def to_headers(self, *, is_message: bool, now_millis: int, is_waiting: bool) -> dict[str, str]:
        """Build the headers of a request that this agent makes; the chain ends with it, and its
        time limit binds a call that it waits for.
        """
        headers = {
            REQUEST_ID: self.request_id,
            TRACE_PARENT: self.traceparent,
            TRACE_STATE: self.tracestate,
        }
        if is_message and self.agent:
            headers[CHAIN_AGENTS] = ",".join(quote(each, safe=" ") for each in self._extend_chain())
            headers[CHAIN_DEPTH] = str(self.depth + 1)
        if is_message and is_waiting and (seconds := self._find_seconds_left(now_millis)) != inf:
            headers[CALLER_TIMEOUT] = f"{max(seconds, 0.001):.3f}"
        return {parameter.headers[0].lower(): text for parameter, text in headers.items() if text}

    def _find_seconds_left(self, now_millis: int) -> float:
        """Find the time that the run of this origin has left."""
        _, _, deadline, now = current_run.get((None, None, inf, _no_time))
        left = inf if self.deadline_millis is None else (self.deadline_millis - now_millis) / 1000
        return min(left, deadline - now())

    def _extend_chain(self) -> tuple[str, ...]:
        if self.agent:
            return (*self.agents, self.agent)
        return self.agents


DEADLINE = "deadline"
"""Member of the record of an origin: the time in milliseconds at which its caller stops waiting."""

current_run: ContextVar[tuple[Any, Any, float, Callable[[], float]]] = ContextVar("a2a_run")
"""Skill and task of a handler, and the end of its time on a clock; also in the tasks that it
starts.

Not the run: that would be a cycle, which only the garbage collector frees.
"""

current_origin: ContextVar[Origin | None] = ContextVar("a2a_origin", default=None)
"""The origin of the request that is processed, or of the task that runs."""


def inject_trace() -> dict[str, str]:
    """Build the headers of the current span, in a process that uses OpenTelemetry; nothing is
    imported for it.
    """
    headers: dict[str, str] = {}
    if (propagate := sys.modules.get("opentelemetry.propagate")) is not None:
        propagate.inject(headers)
    return headers


def limit_origin(seconds: float, now_millis: int) -> Origin:
    """Copy the current origin for a run whose time ends, so that the agents that its handler calls
    end with it.
    """
    origin = copy(current_origin.get() or Origin())
    origin.deadline_millis = now_millis + round(seconds * 1000)
    return origin


def in_origin(origin: Origin | None, function: Callable[[], T]) -> T:
    """Call a function in an origin, so that the tasks that it starts are in it too."""
    context = copy_context()
    context.run(current_origin.set, origin)
    return context.run(function)


def _parse_seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    if isfinite(seconds) and seconds > 0:
        return min(seconds, _MAX_TIMEOUT_SECONDS)
    return None
