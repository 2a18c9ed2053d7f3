"""Calls of an executor, for all of its releases: contexts, validation, access, one output or
chunks.

Releases differ in the parameters of ``Context.create`` and ``validate``, which are read from their
signatures. An object with ``call_async``, ``stream``, ``validate`` and ``registry`` is an executor,
whatever its class.

**Cancel.** Only the token stops a module: the executor runs it in a task of its own. The token
tells at once that the task is being stopped. Whatever ends a call early cancels the token, and the
task of the call a second later.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from time import time
from typing import Any, cast

from a2a_contract.errors import A2AError, InternalError
from a2a_contract.json_types import is_json_object
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.importing import explain_missing
from a2a_runtime.features.apcore import errors

with explain_missing(__name__, "apcore"):
    apcore: Any = import_module("apcore")

_GRACE_SECONDS = 1.0
_DENY = "deny"
_EXECUTOR_METHODS = ("call_async", "stream", "validate")


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a module."""

    module_id: str
    inputs: Any
    caller: Caller
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the module finds in the data of its context."""
    is_stopped: Callable[[], bool] = lambda: False
    """Tells whether the task is being stopped, before the call is interrupted."""


class TaskToken(apcore.CancelToken):  # type: ignore[misc]  # the framework has no types
    """A token that is also canceled as soon as its task is being stopped; every release reads this
    attribute.
    """

    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped
        self._has_canceled = False
        super().__init__()  # pyright: ignore[reportUnknownMemberType]

    @property
    def _cancelled(self) -> bool:
        return self._has_canceled or self._is_stopped()

    @_cancelled.setter
    def _cancelled(self, value: bool) -> None:
        self._has_canceled = value


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """An approval that a call waits for."""

    id: str | None
    reason: str = ""
    decides: bool = False
    """True if the answer of the caller is the decision."""


class ApprovalNeededError(Exception):
    """A call waits for an approval."""

    def __init__(self, pending: PendingApproval) -> None:
        super().__init__(pending)
        self.pending = pending


class ModuleCaller:
    """Calls the modules of an executor."""

    def __init__(self, target: Any, timeout_seconds: float) -> None:
        self.executor = _to_executor(target, timeout_seconds)
        self.registry = _find_registry(self.executor)
        self._timeout_seconds = timeout_seconds
        self._context_members = frozenset(inspect.signature(apcore.Context.create).parameters)
        self._validate = _find_validate(self.executor)
        self._validates_access = "context" in inspect.signature(self.executor.validate).parameters

    @property
    def asks_itself(self) -> bool:
        """True if the executor asks for approvals itself: it has a handler of them, or is no class
        of the framework.
        """
        return (
            not _is_of_framework(type(self.executor))
            or getattr(self.executor, "_approval_handler", None) is not None
        )

    async def validate(self, call: ModuleCall) -> None:
        """Raise the error of a call that may not be made, or whose input is wrong."""
        definition = self.registry.get_definition(call.module_id)
        if definition is None:
            raise errors.build_selection_error(call.module_id)
        schema: Mapping[str, Any] = definition.input_schema or {}
        if self._validates_access:
            arguments: tuple[Any, ...] = (
                call.module_id,
                call.inputs,
                self._build_context(call, apcore.CancelToken()),
            )
        elif not self.is_allowed(call):
            errors.log.warning("module denied: %s for %r", call.module_id, call.caller.subject)
            raise errors.build_denied_error()
        elif not schema:
            return
        else:
            arguments = (call.module_id, call.inputs)
        if schema.get("type") != "string" and not is_json_object(call.inputs):
            raise errors.build_input_error(
                [errors.FieldProblem("", "type", "Input should be an object")]
            )
        try:
            result = await self._validate(*arguments)
        except Exception as error:
            # this is the edge of other code, which may raise anything
            raise errors.to_protocol_error(error, call.module_id) from error
        if result is not None and not result.valid:
            raise _to_refusal(result, call, schema)

    def is_allowed(self, call: ModuleCall) -> bool:
        """Ask the rules of access; true without any."""
        acl: Any = getattr(self.executor, "_acl", None)
        if acl is None:
            return True
        context = self._build_context(call, apcore.CancelToken())
        # a rule may ask for an approval, which is no denial
        if hasattr(acl, "check_access"):
            return bool(acl.check_access(None, call.module_id, context).access != _DENY)
        return bool(acl.check(None, call.module_id, context))

    async def call(self, call: ModuleCall) -> Any:
        """Call a module and return its output."""
        token = TaskToken(call.is_stopped)
        running = asyncio.ensure_future(
            self.executor.call_async(call.module_id, call.inputs, self._build_context(call, token))
        )
        try:
            finished, _ = await asyncio.wait((running,), timeout=self._timeout_seconds)
        finally:
            if not running.done():
                token.cancel()
                _abandon(running)
        if not finished:
            raise errors.build_timeout_error()
        with _find_pending():
            return running.result()

    async def stream(self, call: ModuleCall) -> AsyncGenerator[Any, None]:
        """Call a module and yield its chunks."""
        token = TaskToken(call.is_stopped)
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        limit = asyncio.timeout_at(deadline)
        chunks = self.executor.stream(call.module_id, call.inputs, self._build_context(call, token))
        async with aclosing(chunks):
            try:
                with _find_pending():
                    while True:
                        limit = asyncio.timeout_at(deadline)
                        async with limit:
                            try:
                                chunk = await anext(chunks)
                            except StopAsyncIteration:
                                return
                        yield chunk
            except TimeoutError:
                if limit.expired():
                    raise errors.build_timeout_error() from None
                raise
            finally:
                # before the chunks are closed, so that the module can see it
                token.cancel()

    def _build_context(self, call: ModuleCall, token: Any) -> Any:
        values = {
            "executor": self.executor,
            "identity": build_identity(call.caller),
            "data": {**call.data},
            "cancel_token": token,
            "global_deadline": time() + self._timeout_seconds,
        }
        context = apcore.Context.create(
            **{name: value for name, value in values.items() if name in self._context_members}
        )
        if "cancel_token" not in self._context_members:
            context.cancel_token = token
        return context


def _abandon(running: asyncio.Future[Any]) -> None:
    """Leave a call that is over some time to see its token; then cancel it.

    Its outcome is of no use.
    """
    running.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
    running.get_loop().call_later(_GRACE_SECONDS, running.cancel)


@contextmanager
def _find_pending() -> Generator[None]:
    """Raise ``ApprovalNeededError`` for the error of a call that waits for an approval."""
    try:
        yield
    except Exception as error:
        if getattr(error, "code", None) != errors.APPROVAL_PENDING:
            raise
        details = getattr(error, "details", None)
        approval_id = getattr(error, "approval_id", None)
        if not approval_id:
            approval_id = details.get("approval_id") if is_json_object(details) else None
        text = None if approval_id is None else str(approval_id)
        pending = PendingApproval(text, str(getattr(error, "reason", None) or ""))
        raise ApprovalNeededError(pending) from error


def build_identity(caller: Caller) -> Any:
    """Build the identity of a caller, with every claim of its token; ``None`` for anonymous
    callers.
    """
    if not caller.is_authenticated:
        return None
    kind = caller.claims.get("type")
    if not isinstance(kind, str) or not kind:
        kind = "user"
    return apcore.Identity(
        id=caller.subject,
        type=kind,
        roles=tuple(sorted(caller.roles)),
        attrs=dict(caller.claims),
    )


def _to_refusal(result: Any, call: ModuleCall, schema: Mapping[str, Any]) -> A2AError:
    """Convert the result of a validation that has failed: denied access counts before a wrong
    input.
    """
    found = [each for each in result.errors if is_json_object(each)]
    by_code = {str(each.get("code")): each for each in found}
    if (denied := by_code.get(errors.DENIED)) is not None:
        errors.log.warning(
            "module denied: %s for %r: %s",
            call.module_id,
            call.caller.subject,
            denied.get("message"),
        )
        return errors.build_denied_error()
    required = schema.get("required") or ()
    if (invalid := by_code.get(errors.SCHEMA_INVALID)) is not None:
        return errors.build_input_error(
            [*errors.list_problems(invalid.get("details"), required, call.inputs)]
        )
    # the first releases raise the errors themselves
    if not any(errors.is_known_code(code) for code in by_code):
        return errors.build_input_error([*errors.list_problems(found, required, call.inputs)])
    code, other = next(iter(by_code.items()))
    return errors.to_protocol_error(
        _PreflightError(code, str(other.get("message", ""))), call.module_id
    )


class _PreflightError(Exception):
    """A check before the call that has failed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.cause = InternalError()


def _to_executor(target: Any, timeout_seconds: float) -> Any:
    """Return an executor, or make one for a registry."""
    if all(callable(getattr(target, name, None)) for name in _EXECUTOR_METHODS):
        return target
    if not callable(getattr(target, "get_definition", None)):
        methods = ", ".join(_EXECUTOR_METHODS)
        raise TypeError(
            f"apcore: {type(target).__qualname__} is neither a registry nor an executor; "
            f"pass one, or an object with {methods}"
        )
    millis = round(timeout_seconds * 1000)
    config = getattr(target, "_config", None)
    if config is None:
        config = apcore.Config(
            data={"executor": {"default_timeout": millis, "global_timeout": millis}}
        )
    return apcore.Executor(target, config=config)


def _find_validate(executor: Any) -> Callable[..., Awaitable[Any]]:
    """Find the validation of an executor.

    The public one blocks, and two threads must not call it at once: it runs one loop for both.
    """
    kind = cast("Any", type(executor))
    validate_async = getattr(executor, "_validate_async", None)
    if inspect.iscoroutinefunction(validate_async) and _is_of_framework(kind.validate):
        return validate_async
    return partial(asyncio.to_thread, executor.validate)


def _is_of_framework(thing: Any) -> bool:
    """Return whether a class or function is one of the framework."""
    return str(thing.__module__).startswith(f"{apcore.__name__}.")


def _find_registry(executor: Any) -> Any:
    registry = getattr(executor, "registry", None)
    if not callable(getattr(registry, "get_definition", None)):
        raise TypeError(
            f"apcore: {type(executor).__qualname__} has no registry; give it a property of "
            "that name"
        )
    return registry
