"""Every operation of Stepwire that uses AWS, with the calls that it makes if nothing fails, in order.

An operation is arranged on a new site. The arrangement returns a function that performs the operation, and repeats it
when it is called again: as a client repeats a request, or AWS delivers an event again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stepwire.tasks.usage import MOST_IN_ONE, Limits
from tests.faults import approvers, deliveries
from tests.faults.aws_events import (
    arms_are_stopped,
    arrange_arm_failure,
    arrange_arm_start,
    arrange_ask,
    arrange_ask_nobody,
    arrange_cancel_between,
    arrange_end,
    arrange_end_in_s3,
    arrange_end_of_large_terms,
    arrange_end_too_large_for_an_item,
    arrange_end_without_output,
    arrange_expire,
    arrange_failure,
    arrange_failure_at_once,
    arrange_progress,
    arrange_redrive,
    arrange_redrive_refused,
    arrange_restart,
    arrange_status_change,
    arrange_sweep_end,
    arrange_sweep_end_in_s3,
    arrange_sweep_end_too_large_for_an_item,
    arrange_sweep_expired,
    arrange_sweep_losers,
    arrange_sweep_never_begun,
    arrange_sweep_redrive,
    arrange_sweep_restart,
    arrange_win,
    change_is_published,
    ends_are_recorded,
    question_is_asked,
    state_has_failed,
)
from tests.faults.client_requests import (
    arrange_answer,
    arrange_answer_posted,
    arrange_cancel,
    arrange_cancel_race,
    arrange_cancelled_request,
    arrange_client_task_ended,
    arrange_client_task_lost,
    arrange_client_task_made,
    arrange_client_task_result,
    arrange_confirm_large,
    arrange_confirm_legacy,
    arrange_create,
    arrange_create_at_the_limit,
    arrange_create_confirmed,
    arrange_create_large,
    arrange_create_legacy,
    arrange_create_plain,
    arrange_create_plain_legacy,
    arrange_create_race,
    arrange_create_refused,
    arrange_create_refused_with_key,
    arrange_create_where_home_is_full,
    arrange_create_with_key,
    arrange_get,
    arrange_get_end_in_s3,
    arrange_get_end_too_large_for_an_item,
    arrange_get_end_untold,
    arrange_get_never_begun,
    arrange_get_never_begun_large,
    arrange_list,
    arrange_listen,
    arrange_result_fetched,
    arrange_result_kept,
    arrange_result_too_large_for_an_item,
    arrange_resume,
    arrange_resume_end_untold,
    arrange_resume_large,
    arrange_resume_too_large_for_an_item,
)
from tests.faults.operators import (
    arrange_end_after_a_redrive,
    arrange_redrive_command,
    arrange_redrive_in_the_console,
    arrange_restart_command,
    redrive_has_its_task,
)
from tests.faults.seen import Act
from tests.faults.site import Site
from tests.faults.waiting_in_line import (
    arrange_cancel_in_line,
    arrange_create_in_line,
    arrange_create_limited,
    arrange_end_of_turn,
    arrange_expire_in_line,
    arrange_look_in_line,
    arrange_sweep_line,
    line_is_right,
)


class Caller(Enum):
    """Who triggers an operation; the value describes a repetition by them."""

    CLIENT = "retry"
    RESUMING = "next GET"
    EVENTBRIDGE = "redelivery"
    LETTER = "redelivery, or replay of the dead letter"
    OPERATOR = "repeated command"
    STREAM = "redelivery by the stream"
    QUEUE = "redelivery by the queue"
    WORKFLOW = "retry of the state"
    SCHEDULE = "next sweep"

    @property
    def always_comes_again(self) -> bool:
        """Tell whether this caller always retries until it succeeds; the others may not."""
        return self not in {Caller.CLIENT, Caller.RESUMING, Caller.EVENTBRIDGE, Caller.OPERATOR}


def nothing_more(site: Site) -> list[str]:
    """Check nothing more: the operation has no goal of its own."""
    return []


@dataclass(frozen=True)
class Operation:
    """One operation."""

    name: str
    caller: Caller
    steps: tuple[str, ...]
    """The calls to AWS, in order."""
    arrange: Callable[[Site], Act]
    wrongs: Callable[[Site], list[str]] = nothing_more
    """Returns what is still missing afterwards, besides the general `wrongs`."""
    limits: Limits = field(default_factory=Limits)
    first: int = 0
    """The first call that gets faults here; the calls before it are tested with another operation."""
    last: int | None = None
    """The last call that gets faults here; None is the last of all."""
    repeats: bool = False
    """Whether a repeated request creates another task."""
    executions: int = 1
    """How many executions there are afterwards, at most."""

    @property
    def own_steps(self) -> range:
        """The indexes of the calls that get faults here."""
        return range(self.first, len(self.steps) if self.last is None else self.last + 1)


_CREATION: Final = ("UpdateItem usage", "PutItem task", "StartExecution")
_LARGE_CREATION: Final = ("UpdateItem usage", "PutItem terms", "PutItem task", "StartExecution")
_QUERIES: Final = ("Query lines", "GetItem bookmark", *("Query neglected",) * 4, "BatchGetItem tasks")
_BEGUN_AGAIN: Final = ("GetItem task", "DescribeExecution", "PutItem task", "StartExecution", "GetItem task")
_FOUND: Final = ("GetItem task", "DescribeExecution", "PutItem task", "UpdateItem usage")
_FOUND_TOO_LARGE: Final = (*_FOUND[:2], "PutObject result", *_FOUND[2:])
_FOUND_IN_S3: Final = (*_FOUND[:2], "GetObject output", *_FOUND[2:])
# The caller has just called, so the reservation is made at its second try: of one who is in pace.
_SLOT: Final = ("UpdateItem usage", "UpdateItem usage")
_FOLLOWED_UP: Final = ("GetItem task", "DescribeExecution", "PutItem task", *_SLOT, "PutItem task")
_TURN: Final = ("TransactGetItems line", "TransactWriteItems line")
_ENDED: Final = ("GetItem task", "PutItem task", "UpdateItem usage")
_CALLED: Final = ("GetItem task", "PutItem task", "StartExecution", "GetItem task")
_MENDED: Final = ("GetItem line", "Query turn", "BatchGetItem tasks", "TransactWriteItems line")
_OPENED: Final = ("GetItem events", "UpdateItem events")
_RECORDED: Final = ("GetItem events", "PutItem change", "UpdateItem events")
_DELIVERED: Final = ("Query change", "UpdateItem events")
_POSTED: Final = ("UpdateItem events", "Query change", "POST event")
_TOLD_LATER: Final = ("GetItem task", "PutItem task", "SendMessage")
_ANSWERED: Final = ("GetItem task", "PutItem task", "SendTaskSuccess", "PutItem task")

OPERATIONS: Final = (
    Operation("create", Caller.CLIENT, _CREATION, arrange_create, repeats=True),
    Operation("create, large", Caller.CLIENT, _LARGE_CREATION, arrange_create_large, first=1, last=2, repeats=True),
    Operation("create, 2025-11-25", Caller.CLIENT, _CREATION, arrange_create_legacy, first=2, repeats=True),
    Operation("plain call", Caller.CLIENT, (*_CREATION, "GetSecretValue"), arrange_create_plain, first=3, repeats=True),
    Operation(
        "plain call, 2025-11-25",
        Caller.CLIENT,
        (*_CREATION[:2], "PutItem request", _CREATION[2]),
        arrange_create_plain_legacy,
        first=2,
        repeats=True,
    ),
    Operation(
        "create with a key",
        Caller.CLIENT,
        ("PutItem key", *_CREATION),
        arrange_create_with_key,
    ),
    Operation(
        "create at the limit",
        Caller.CLIENT,
        ("UpdateItem usage", "UpdateItem usage", "BatchGetItem tasks", "UpdateItem usage", *_CREATION),
        arrange_create_at_the_limit,
        limits=Limits(active=1),
        last=4,
        repeats=True,
    ),
    Operation(
        "create, home shard full",
        Caller.CLIENT,
        ("UpdateItem usage", "Query usage", *_CREATION),
        arrange_create_where_home_is_full,
        limits=Limits(active=MOST_IN_ONE + 1),
        first=1,
        last=2,
        repeats=True,
    ),
    Operation(
        "create, refused",
        Caller.CLIENT,
        (*_CREATION, "DeleteItem task", "UpdateItem usage"),
        arrange_create_refused,
        first=3,
        repeats=True,
    ),
    Operation(
        "create with a key, refused",
        Caller.CLIENT,
        ("PutItem key", *_CREATION, "DeleteItem task", "UpdateItem usage"),
        arrange_create_refused_with_key,
        first=4,
    ),
    Operation(
        "confirmed call", Caller.CLIENT, ("GetSecretValue", "GetItem task", *_CREATION), arrange_create_confirmed
    ),
    Operation(
        "confirm a task",
        Caller.CLIENT,
        ("GetItem task", "PutItem task", "StartExecution", "GetItem task"),
        arrange_confirm_legacy,
    ),
    Operation(
        "confirm a task, large",
        Caller.CLIENT,
        (
            *("GetItem task", "GetItem terms", "PutItem terms", "PutItem task"),
            *("GetItem terms", "StartExecution", "GetItem task"),
        ),
        arrange_confirm_large,
        first=1,
        last=4,
    ),
    Operation("get", Caller.CLIENT, ("GetItem task",), arrange_get),
    Operation("get, never started", Caller.CLIENT, _BEGUN_AGAIN, arrange_get_never_begun),
    Operation(
        "get, never started, large",
        Caller.CLIENT,
        (*_BEGUN_AGAIN[:3], "GetItem terms", *_BEGUN_AGAIN[3:]),
        arrange_get_never_begun_large,
        first=3,
        last=3,
    ),
    Operation("get, end unreported", Caller.CLIENT, _FOUND, arrange_get_end_untold, ends_are_recorded),
    Operation(
        "get, end unreported, too large for an item",
        Caller.CLIENT,
        (*_FOUND_TOO_LARGE, "GetObject result"),
        arrange_get_end_too_large_for_an_item,
        ends_are_recorded,
        first=2,
    ),
    Operation(
        "get, end unreported, output in S3",
        Caller.CLIENT,
        _FOUND_IN_S3,
        arrange_get_end_in_s3,
        ends_are_recorded,
        first=2,
        last=2,
    ),
    Operation("tasks/result", Caller.CLIENT, ("GetItem task",), arrange_result_kept),
    Operation("tasks/result, large", Caller.CLIENT, ("GetItem task", "GetItem result"), arrange_result_fetched),
    Operation(
        "tasks/result, too large for an item",
        Caller.CLIENT,
        ("GetItem task", "GetObject result"),
        arrange_result_too_large_for_an_item,
        first=1,
    ),
    Operation("resume", Caller.RESUMING, ("BatchGetItem tasks",), arrange_resume),
    Operation("resume, large", Caller.RESUMING, ("BatchGetItem tasks", "GetItem result"), arrange_resume_large),
    Operation(
        "resume, too large for an item",
        Caller.RESUMING,
        ("BatchGetItem tasks", "GetObject result"),
        arrange_resume_too_large_for_an_item,
        first=1,
    ),
    Operation(
        "resume, end unreported",
        Caller.RESUMING,
        ("BatchGetItem tasks", *_FOUND[1:]),
        arrange_resume_end_untold,
        ends_are_recorded,
    ),
    Operation("listen", Caller.CLIENT, ("GetItem task",), arrange_listen),
    Operation("tasks/list", Caller.CLIENT, ("Query tasks",), arrange_list),
    Operation(
        "cancel",
        Caller.CLIENT,
        ("GetItem task", "StopExecution", "PutItem task", "UpdateItem usage"),
        arrange_cancel,
        ends_are_recorded,
    ),
    Operation(
        "cancel between attempts",
        Caller.CLIENT,
        ("GetItem task", "PutItem task", "UpdateItem usage"),
        arrange_cancel_between,
        ends_are_recorded,
    ),
    Operation(
        "notifications/cancelled",
        Caller.CLIENT,
        ("UpdateItem request", "GetItem task", "StopExecution", "PutItem task", "UpdateItem usage"),
        arrange_cancelled_request,
        ends_are_recorded,
    ),
    Operation("answer", Caller.CLIENT, _ANSWERED, arrange_answer),
    Operation("answer, 2025-11-25", Caller.CLIENT, ("GetItem task", *_ANSWERED), arrange_answer_posted),
    Operation("client's task created", Caller.CLIENT, ("GetItem task", "PutItem task"), arrange_client_task_made),
    Operation("client's task ended", Caller.CLIENT, ("GetItem task", "PutItem task"), arrange_client_task_ended),
    Operation("client's task, result", Caller.CLIENT, ("GetItem task", *_ANSWERED), arrange_client_task_result),
    Operation(
        "client's task lost", Caller.CLIENT, ("GetItem task", "PutItem task", "PutItem task"), arrange_client_task_lost
    ),
    Operation("question", Caller.WORKFLOW, ("GetItem task", "PutItem task"), arrange_ask, question_is_asked),
    Operation(
        "question to others", Caller.WORKFLOW, _TOLD_LATER, approvers.arrange_ask_others, approvers.others_are_asked
    ),
    Operation("reminder", Caller.QUEUE, _TOLD_LATER, approvers.arrange_remind, approvers.others_are_reminded),
    Operation("decision of others", Caller.CLIENT, _ANSWERED, approvers.arrange_decision),
    Operation(
        "question to others listed",
        Caller.STREAM,
        ("GetItem inbox", "PutItem inbox", "UpdateItem inbox", "UpdateItem inbox", "PutEvents"),
        approvers.arrange_listing,
        approvers.others_find_it,
    ),
    Operation(
        "question that cannot be asked",
        Caller.WORKFLOW,
        ("GetItem task", "SendTaskFailure"),
        arrange_ask_nobody,
        state_has_failed,
    ),
    Operation("progress", Caller.EVENTBRIDGE, ("GetItem task", "PutItem task"), arrange_progress),
    Operation(
        "end", Caller.EVENTBRIDGE, ("GetItem task", "PutItem task", "UpdateItem usage"), arrange_end, ends_are_recorded
    ),
    Operation(
        "end, large",
        Caller.EVENTBRIDGE,
        ("GetItem task", "DescribeExecution", "PutItem result", "PutItem task", "UpdateItem usage"),
        arrange_end_without_output,
        ends_are_recorded,
    ),
    Operation(
        "end, too large for an item",
        Caller.EVENTBRIDGE,
        _FOUND_TOO_LARGE,
        arrange_end_too_large_for_an_item,
        ends_are_recorded,
        first=2,
    ),
    Operation(
        "end, output in S3",
        Caller.EVENTBRIDGE,
        ("GetItem task", "GetObject output", "PutItem task", "UpdateItem usage"),
        arrange_end_in_s3,
        ends_are_recorded,
        first=1,
        last=1,
    ),
    Operation(
        "failure, retried later",
        Caller.EVENTBRIDGE,
        ("GetItem task", "PutItem task", "SendMessage"),
        arrange_failure,
        ends_are_recorded,
    ),
    Operation(
        "failure, retried at once",
        Caller.EVENTBRIDGE,
        ("GetItem task", "PutItem task", "StartExecution", "GetItem task"),
        arrange_failure_at_once,
        ends_are_recorded,
        first=2,
    ),
    Operation(
        "create a race",
        Caller.CLIENT,
        (*_CREATION, "SendMessage", "GetItem task"),
        arrange_create_race,
        first=2,
        repeats=True,
    ),
    Operation(
        "an arm wins",
        Caller.EVENTBRIDGE,
        (*("GetItem task", "PutItem task", "UpdateItem usage"), "StopExecution", "PutItem task"),
        arrange_win,
        lambda site: [*ends_are_recorded(site), *arms_are_stopped(site)],
        first=1,
    ),
    Operation(
        "an arm fails, the next one starts",
        Caller.EVENTBRIDGE,
        ("GetItem task", "PutItem task", "StartExecution", "GetItem task"),
        arrange_arm_failure,
        first=1,
    ),
    Operation(
        "an arm starts later",
        Caller.QUEUE,
        ("GetItem task", "StartExecution", "GetItem task"),
        arrange_arm_start,
        first=1,
    ),
    Operation(
        "cancel a race",
        Caller.CLIENT,
        ("GetItem task", "StopExecution", "StopExecution", "PutItem task", "UpdateItem usage"),
        arrange_cancel_race,
        lambda site: [*ends_are_recorded(site), *arms_are_stopped(site)],
        first=1,
        last=3,
    ),
    Operation(
        "sweep, losers run on",
        Caller.SCHEDULE,
        (*_QUERIES, "GetItem task", "StopExecution", "PutItem task"),
        arrange_sweep_losers,
        arms_are_stopped,
        first=7,
    ),
    Operation("restart", Caller.QUEUE, ("GetItem task", "StartExecution", "GetItem task"), arrange_restart),
    Operation("redrive", Caller.QUEUE, ("GetItem task", "RedriveExecution", "GetItem task"), arrange_redrive),
    Operation(
        "redrive, refused",
        Caller.QUEUE,
        (
            "GetItem task",
            "RedriveExecution",
            "DescribeExecution",
            "PutItem task",
            "StartExecution",
            "GetItem task",
        ),
        arrange_redrive_refused,
        first=1,
    ),
    Operation(
        "operator's redrive",
        Caller.OPERATOR,
        (*_FOLLOWED_UP, "RedriveExecution", "GetItem task"),
        arrange_redrive_command,
    ),
    Operation(
        "operator's restart",
        Caller.OPERATOR,
        (*_FOLLOWED_UP, "StartExecution", "GetItem task"),
        arrange_restart_command,
        first=1,
        executions=2,
    ),
    Operation(
        "redrive in the console",
        Caller.LETTER,
        ("GetItem task", "PutItem task", "PutItem task"),
        arrange_redrive_in_the_console,
        redrive_has_its_task,
    ),
    Operation(
        "end after a redrive in the console",
        Caller.LETTER,
        ("GetItem task", *("PutItem task",) * 3, "UpdateItem usage"),
        arrange_end_after_a_redrive,
        redrive_has_its_task,
        first=3,
    ),
    Operation(
        "end of a large call",
        Caller.EVENTBRIDGE,
        ("GetItem task", "GetItem terms", "PutItem task", "UpdateItem usage"),
        arrange_end_of_large_terms,
        ends_are_recorded,
        first=1,
        last=1,
    ),
    Operation("expiry", Caller.STREAM, ("StopExecution", "UpdateItem usage"), arrange_expire),
    Operation("sweep, end unreported", Caller.SCHEDULE, (*_QUERIES, *_FOUND), arrange_sweep_end, ends_are_recorded),
    Operation(
        "sweep, end unreported, too large for an item",
        Caller.SCHEDULE,
        (*_QUERIES, *_FOUND_TOO_LARGE),
        arrange_sweep_end_too_large_for_an_item,
        ends_are_recorded,
        first=9,
        last=10,
    ),
    Operation(
        "sweep, end unreported, output in S3",
        Caller.SCHEDULE,
        (*_QUERIES, *_FOUND_IN_S3),
        arrange_sweep_end_in_s3,
        ends_are_recorded,
        first=9,
        last=9,
    ),
    Operation("sweep, never restarted", Caller.SCHEDULE, (*_QUERIES, *_BEGUN_AGAIN), arrange_sweep_restart, first=7),
    Operation(
        "sweep, never redriven",
        Caller.SCHEDULE,
        (*_QUERIES, "GetItem task", "DescribeExecution", "PutItem task", "RedriveExecution", "GetItem task"),
        arrange_sweep_redrive,
        first=7,
    ),
    Operation("sweep, never started", Caller.SCHEDULE, (*_QUERIES, *_BEGUN_AGAIN), arrange_sweep_never_begun, first=7),
    Operation(
        "sweep, expired",
        Caller.SCHEDULE,
        (*_QUERIES, "GetItem task", "StopExecution", "UpdateItem usage", "DeleteItem task"),
        arrange_sweep_expired,
        first=7,
    ),
    Operation("status change published", Caller.STREAM, ("PutEvents",), arrange_status_change, change_is_published),
    Operation(
        "create, limited",
        Caller.CLIENT,
        (*_CREATION[:2], *_TURN, "PutItem task", "StartExecution", "GetItem task"),
        arrange_create_limited,
        line_is_right,
        first=2,
        repeats=True,
    ),
    Operation(
        "create, in line",
        Caller.CLIENT,
        (*_SLOT, "PutItem task", *_TURN, "Query rank", "PutItem task"),
        arrange_create_in_line,
        line_is_right,
        first=3,
        repeats=True,
        executions=2,
    ),
    Operation(
        "end, and the next in line begins",
        Caller.EVENTBRIDGE,
        (*_ENDED, "TransactGetItems line", "Query rank", "TransactWriteItems line", *_CALLED),
        arrange_end_of_turn,
        lambda site: [*ends_are_recorded(site), *line_is_right(site)],
        first=3,
        executions=2,
    ),
    Operation(
        "cancel in line",
        Caller.CLIENT,
        (*_ENDED, *_TURN),
        arrange_cancel_in_line,
        line_is_right,
        first=3,
        executions=2,
    ),
    Operation(
        "expiry in line",
        Caller.STREAM,
        (*_TURN, "UpdateItem usage"),
        arrange_expire_in_line,
        line_is_right,
        last=1,
    ),
    Operation(
        "get, in line",
        Caller.CLIENT,
        ("GetItem task", "TransactGetItems line", *_MENDED, "GetItem line", "Query rank", "PutItem task"),
        arrange_look_in_line,
        line_is_right,
        first=1,
        executions=2,
    ),
    Operation(
        "sweep, turn not given back",
        Caller.SCHEDULE,
        (
            *("Query lines", *_MENDED[:3], "GetItem task", _MENDED[3]),
            *("GetItem line", "Query rank", "TransactWriteItems line", "GetItem line"),
            *(*_CALLED, "Query rank", *_QUERIES[1:6]),
        ),
        arrange_sweep_line,
        line_is_right,
        last=13,
        executions=2,
    ),
    Operation("events/poll, first", Caller.CLIENT, _OPENED, deliveries.arrange_poll),
    Operation("events/poll", Caller.CLIENT, ("GetItem events", "Query change"), deliveries.arrange_poll_again),
    Operation(
        "events/subscribe",
        Caller.CLIENT,
        (
            "GetItem events",
            "UpdateItem events",
            "GetItem events",
            *_OPENED,
            "GetItem verified",
            *("UpdateItem waits",) * 2,
            "POST challenge",
            *("UpdateItem waits",) * 2,
            "PutItem verified",
            "PutItem events",
        ),
        deliveries.arrange_subscribe,
    ),
    Operation(
        "events/subscribe, refresh",
        Caller.CLIENT,
        (
            "GetItem events",
            "UpdateItem events",
            "GetItem events",
            "GetItem events",
            "GetItem verified",
            "UpdateItem events",
        ),
        deliveries.arrange_refresh,
    ),
    Operation(
        "events/unsubscribe", Caller.CLIENT, ("GetItem events", "DeleteItem events"), deliveries.arrange_unsubscribe
    ),
    Operation(
        "event recorded",
        Caller.STREAM,
        (*_RECORDED, "Query events", "UpdateItem events", "SendMessageBatch"),
        deliveries.arrange_record,
        deliveries.events_arrive,
    ),
    Operation(
        "event delivered", Caller.QUEUE, (*_POSTED, *_DELIVERED), deliveries.arrange_delivery, deliveries.events_arrive
    ),
    Operation(
        "event delivered after a gap",
        Caller.QUEUE,
        ("UpdateItem events", "Query change", "POST gap", "POST event", *_DELIVERED),
        deliveries.arrange_delivery_after_gap,
        deliveries.events_arrive,
        first=2,
    ),
    Operation(
        "event delivered at the second attempt",
        Caller.QUEUE,
        (*_POSTED, "UpdateItem events", "SendMessage", *_POSTED, *_DELIVERED),
        deliveries.arrange_failed_delivery,
        deliveries.events_arrive,
        first=3,
        last=4,
    ),
    Operation(
        "event delivered after a refused one",
        Caller.QUEUE,
        (*_POSTED, "POST event", *_DELIVERED),
        deliveries.arrange_refused_delivery,
        deliveries.events_arrive,
        first=2,
    ),
)
