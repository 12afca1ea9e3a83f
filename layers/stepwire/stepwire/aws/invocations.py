"""What every function does around an event: build once, know the deadline, wait out weather, log faults.

Before Lambda takes a snapshot of function mcp (SnapStart), and with the first event, a function builds what it keeps.
Every instance starts as a copy of the snapshot, which may contain only what is the same for every copy and valid for
the life of the version: code, settings, the catalog, compiled schemas, the models of AWS services. It must not contain
what is unique per instance or expires: ids, randomness, the time, credentials, secrets, connections, state of requests.
The first request that needs them creates them.
"""

import gc
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from botocore.exceptions import ClientError

from stepwire.aws.clients import code_of, is_weather
from stepwire.engine.ports import Clock
from stepwire.errors import AtQuota, NeedsOperator
from stepwire.tracing import follow, followed

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

AWS_BUSY: Final = "AWS throttles or does not answer"
"""The log message of weather; the metric `Weather` counts it (`operations.yaml`)."""
_Result = TypeVar("_Result")
_FIRST_PAUSE: Final = 1.0  # seconds
_LONGEST_PAUSE: Final = 5.0
_Handler = TypeVar("_Handler")
_Event = ParamSpec("_Event")
_Answer = TypeVar("_Answer")

_RUNTIME: Final = "AWS_LAMBDA_RUNTIME_API"  # where a process that is one function's alone gets its events
_frozen: list[bool] = []
_INITIALIZATION: Final = "AWS_LAMBDA_INITIALIZATION_TYPE"  # how Lambda started this instance


def before_snapshot(build: Callable[[], None]) -> None:
    """Build now if Lambda is about to take a snapshot; otherwise the first request builds what it needs."""
    if os.environ.get(_INITIALIZATION) == "snap-start":
        build()
        gc.freeze()


def builds_once(
    handle: Callable[Concatenate[_Handler, _Event], _Answer],
) -> Callable[Concatenate[_Handler, _Event], _Answer]:
    """Leave what a handler has built by the end of its first event out of all garbage collections.

    These tens of thousands of objects stay for the life of the instance. Each full collection would visit them all.
    """

    @wraps(handle)
    def handled(self: Any, *event: _Event.args, **more: _Event.kwargs) -> _Answer:
        follow(None)  # the event before this one may have belonged to a trace
        try:
            return handle(self, *event, **more)
        finally:
            if not _frozen and _RUNTIME in os.environ:
                _frozen.append(True)
                gc.freeze()

    return handled


class SystemClock:
    """The system's clock."""

    def now(self) -> datetime:
        """Return the current time."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def sleep(self, seconds: float) -> None:
        """Block for that many seconds."""
        time.sleep(seconds)


def new_logger() -> "Logger":
    """Return the logger of this function; most requests log nothing, and Powertools takes its time to load."""
    from aws_lambda_powertools import Logger  # noqa: PLC0415

    return Logger()


def deadline_of(context: Any, at: datetime) -> datetime | None:
    """Return when Lambda ends the invocation, which is asked now; None without a Lambda context."""
    return None if context is None else at + timedelta(milliseconds=context.get_remaining_time_in_millis())


def waited_out(
    act: Callable[[], _Result],
    context: Any,
    report: Callable[[Exception], None],
    clock: Clock,
    needs: timedelta = timedelta(seconds=15),
) -> _Result:
    """Return what an act returns; while AWS throttles it or does not answer, do it again until little time is left.

    Args:
        act: what is done; it has the same effect twice as once.
        context: of the invocation, which says how much time is left.
        report: receives the weather that was waited out.
        clock: measures the pauses.
        needs: time that must be left for another try.
    """
    deadline, pause = deadline_of(context, clock.now()), _FIRST_PAUSE
    while True:
        try:
            return act()
        except Exception as fault:
            if deadline is None or clock.now() > deadline - needs or not is_weather(fault):
                raise
            report(fault)
        clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def log_fault(fault: Exception, where: str, at_quota: str, logger: "Logger") -> None:
    """Log a fault with the message `where`; weather with others, which no deployment alarm counts.

    A quota error of Step Functions has the message `at_quota`, all other weather the message `AWS_BUSY`.
    """
    # Only types, codes and the place in the code: a message may contain arguments or results.
    keys: dict[str, Any] = {"fault": type(fault).__name__, "place": _place(fault), "aws_error": _aws_error(fault)}
    trace = followed()
    if trace is not None:
        keys["trace_id"] = trace.id
    if isinstance(fault, NeedsOperator):
        logger.error("a permission is missing", **keys)
    elif isinstance(fault, AtQuota):
        logger.warning(at_quota, **keys)
    elif is_weather(fault):
        logger.warning(AWS_BUSY, met_as=where, **keys)
    else:
        logger.error(where, **keys)


def _aws_error(fault: BaseException) -> str | None:
    """Return the code of the AWS error that the fault is, or was raised from."""
    for error in (fault, fault.__cause__):
        if isinstance(error, ClientError):
            return code_of(error)
    return None


def _place(fault: Exception) -> str:
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "unknown"
