"""The stack in a separate process, so that its figures contain no costs of the clients.

with site(issuer.url, active=10, per_minute=600) as stack:
    ... stack.url() ...
    stack.open_gate()
"""

import json
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, Final, cast

import boto3
from botocore.model import OperationModel

from stepwire.aws.storage.items import TASK_PREFIX
from stepwire_local import LocalStack, StatusEvent, at_once
from tools.load.gate import waiting

TEMPLATE: Final = Path(__file__).parent / "template.yaml"


@dataclass(frozen=True)
class Account:
    """The contents of the account, as Step Functions and DynamoDB report them."""

    tasks: Mapping[str, str]
    """The status of each task in the table, by id."""
    executions: tuple[tuple[str, str], ...]
    """The task id and the status of each execution."""
    slots: Mapping[str, int]
    """The number of active slots that each caller holds."""


@dataclass(frozen=True)
class Call:
    """A call of a function to AWS."""

    function: str
    operation: str
    at: float
    """On the monotonic clock, which all processes share."""


@dataclass(frozen=True)
class Cost:
    """The resources that the stack has used since its start."""

    cpu_seconds: float
    own_seconds: float
    """The CPU time of the functions' own code, of those that have ended: without boto3 and what answers its calls."""
    peak_megabytes: float
    threads: int
    """The current number."""


class Site:
    """The stack, controlled from outside; each method runs in the stack's process."""

    def __init__(self, parameters: Mapping[str, str], lost_events: int = 0) -> None:
        logging.basicConfig(level=logging.WARNING)
        self._exit = ExitStack()
        # The metrics and the audit log of the functions.
        nowhere = self._exit.enter_context(Path(os.devnull).open("w"))  # noqa: SIM115  # closed with the rest
        self._exit.enter_context(redirect_stdout(nowhere))
        self._to_lose = lost_events
        self._calls: list[Call] = []
        self._call = threading.local()
        self._in_calls = 0.0  # CPU seconds
        self._counting = threading.Lock()
        self._stack = self._exit.enter_context(LocalStack(TEMPLATE, parameters=parameters, events=self._policy))
        named = {function.settings.name: logical_id for logical_id, function in self._stack.functions.items()}
        self._functions = named  # identified by the names of the threads
        boto3.setup_default_session()  # used by the handlers, and not by the local stack
        events = cast(Any, boto3).DEFAULT_SESSION.events
        events.register("before-call", self._note)
        # The first and the last that boto3 does in a call; the account is simulated in the same thread.
        events.register_first("provide-client-params", self._begin_call)
        for last in ("after-call", "after-call-error"):
            events.register_last(last, self._end_call)

    def close(self) -> None:
        """Stop the stack."""
        waiting.put(None)
        self._exit.close()

    def url(self) -> str:
        """Return the URL of the endpoint."""
        return self._stack.url

    def open_gate(self) -> None:
        """Let every workflow continue that waits at the gate, now or later."""
        threading.Thread(target=self._let_through, daemon=True).start()

    def account(self) -> Account:
        """Return the contents of the account."""
        pages = self._stack.client("dynamodb").get_paginator("scan").paginate(TableName=self._named("TasksTable"))
        items: list[dict[str, Any]] = [item for page in pages for item in page["Items"]]
        held = {item["pk"]["S"]: len(item.get("active", {}).get("SS", ())) for item in items}
        listed = self._stack.client("stepfunctions").get_paginator("list_executions")
        found = [page for name in ("Ask", "Work") for page in listed.paginate(stateMachineArn=self._named(name))]
        return Account(
            tasks={
                item["sk"]["S"].removeprefix(TASK_PREFIX): item["status"]["S"]
                for item in items
                if item["sk"]["S"].startswith(TASK_PREFIX)
            },
            executions=tuple(
                (one["name"].rpartition("-")[2], one["status"]) for page in found for one in page["executions"]
            ),
            slots={caller: count for caller, count in held.items() if count},
        )

    def calls(self) -> list[Call]:
        """Return the calls of the functions to AWS."""
        return list(self._calls)

    def cost(self) -> Cost:
        """Return the resources that the process has used."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        kilobytes = used.ru_maxrss / 1024 if sys.platform == "darwin" else used.ru_maxrss
        own = sum(function.cpu_seconds for function in self._stack.functions.values()) - self._in_calls
        return Cost(time.process_time(), own, kilobytes / 1024, threading.active_count())

    def _named(self, logical_id: str) -> str:
        return self._stack.physical_ids[logical_id]

    def _policy(self, event: StatusEvent) -> tuple[float, ...]:
        if event.status == "SUCCEEDED" and self._to_lose > 0:  # a cancelled task needs no event of its end
            self._to_lose -= 1
            return ()
        return tuple(at_once(event))

    def _note(self, model: OperationModel, **_: object) -> None:
        function = self._functions[threading.current_thread().name]
        self._calls.append(Call(function, model.name, time.monotonic()))

    def _begin_call(self, **_: object) -> None:
        self._call.begun = time.thread_time()

    def _end_call(self, **_: object) -> None:
        with self._counting:
            self._in_calls += time.thread_time() - self._call.begun

    def _let_through(self) -> None:
        states = self._stack.client("stepfunctions")
        while (one := waiting.get()) is not None:
            if one.ending == "gives_back":
                states.send_task_success(taskToken=one.token, output=json.dumps({"words": one.words}))
            elif one.ending == "fails":
                states.send_task_failure(taskToken=one.token, error="Load", cause=one.words)


class _Process(BaseManager):
    """The process of the stack."""


_Process.register("Site", Site)


@contextmanager
def site(issuer: str, *, active: int, per_minute: int, lost_events: int = 0) -> Generator[Site]:
    """Serve the stack of this folder until the block ends.

    Args:
        issuer: the issuer whose tokens are accepted.
        active: the active tasks that one caller may have.
        per_minute: the tasks that one caller may create in a minute.
        lost_events: how many status events are lost, to check that the run detects it.
    """
    parameters = {"JwtIssuer": issuer, "MostActiveTasks": str(active), "MostTasksPerMinute": str(per_minute)}
    with _Process(ctx=get_context("spawn")) as process:
        stack = cast(Site, cast(Any, process).Site(parameters, lost_events))
        try:
            yield stack
        finally:
            stack.close()
