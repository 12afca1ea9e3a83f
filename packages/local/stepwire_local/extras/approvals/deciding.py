"""Questions that somebody other than the caller decides, and people made up to decide them.

The rules: an answer goes the way that every answer goes (`approvals.service`), with the role and the variables of
function mcp. A person is made up by name, has whatever a question's audience asks for, and is no caller. Only this
machine may do that: the console for whoever looks at it, `approve` and `refuse` for a test.
"""

import hashlib
import logging
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from stepwire.aws.bootstrap import ports_of
from stepwire.aws.clients import dynamodb_client, step_functions_client
from stepwire.aws.settings import read_mcp_settings, required
from stepwire.aws.storage.items import TASK_PREFIX, task_key_from_item
from stepwire.aws.storage.table import Table
from stepwire.engine.answers import WrongAnswer
from stepwire.engine.assembly import Settings, assemble
from stepwire.extras.approvals import approvals_over
from stepwire.extras.approvals.inbox import OpenQuestion, QuestionKey
from stepwire.extras.approvals.refusals import UnknownApproval
from stepwire.extras.approvals.rules import Approval, Approver, Condition, HasClaim, VoteWay, approval_of
from stepwire.extras.approvals.service import Approvals, HasVoted
from stepwire.extras.approvals.storage import DynamoDbInbox
from stepwire.json_text import Json, JsonObject
from stepwire.rendering import modern_status
from stepwire.tasks.answers import Decision
from stepwire.tasks.ids import TaskKey
from stepwire_local.extras import Stack
from stepwire_local.iam.permissions import acting_as
from stepwire_local.lambdas.functions import Function

logger = logging.getLogger(__name__)

MCP: Final = "McpFunction"
_PATIENCE: Final = 30.0  # seconds in which a workflow asks its question
_LOOK: Final = 0.01  # seconds between two looks at a task


class NotDecided(Exception):
    """A question could not be decided; the message says why."""


@dataclass(frozen=True)
class Deciders:
    """People who may decide every question. Use it in the block of `at_work`."""

    approvals: Approvals

    def required(self, key: QuestionKey, person: str) -> OpenQuestion | None:
        """Return a question as it is now, if the person may answer it and has not."""
        task = self.approvals.recorder.load(key.task)
        request = None if task is None else next((one for one in task.questions if one.number == key.number), None)
        approval = None if request is None else approval_of(request.audience)
        if approval is None:
            return None
        try:
            return self.approvals.require(key, somebody(person, approval))
        except UnknownApproval:
            return None

    def vote(self, key: QuestionKey, person: str, answer: Json) -> HasVoted | Decision | WrongAnswer:
        """Record the answer of a person to a question, and return how it stands then.

        Raises:
            UnknownApproval: it has been decided, or the person has answered it.
        """
        question = self.required(key, person)
        if question is None:
            raise UnknownApproval
        return self.approvals.vote(question.key, somebody(person, question.approval), answer, VoteWay.CONSOLE)


@contextmanager
def at_work(function: Function) -> Generator[Deciders]:
    """Find and decide questions as function mcp does, in a block."""
    with function.running():
        settings = read_mcp_settings(os.environ)
        table = Table(required(os.environ, "TABLE_NAME"), dynamodb_client)
        ports = ports_of(table, step_functions_client, _report)
        engine = assemble(
            ports, Settings(settings.intervals, settings.limits, settings.waits, settings.execution_prefix)
        )
        yield Deciders(approvals_over(engine, DynamoDbInbox(table)))


def somebody(name: str, approval: Approval) -> Approver:
    """Return a person of this name who has whatever the audiences of a question ask for."""
    policy = approval.policy
    audiences = (policy.audience, *((policy.escalation.audience,) if policy.escalation else ()))
    qualities = [_quality_for(one) for audience in audiences for one in audience.conditions]
    digest = hashlib.blake2b(f"console {name}".encode(), digest_size=16).hexdigest()
    return Approver(digest, name, frozenset(qualities))


def _quality_for(condition: Condition) -> Condition:
    """Return a quality that satisfies a condition: of a claim, its first value."""
    return replace(condition, values=condition.values[:1]) if isinstance(condition, HasClaim) else condition


def _report(fault: Exception) -> None:
    logger.warning("An answer is recorded; its delivery is tried again later.", exc_info=fault)


def approve(  # each is a choice of its own, by name
    stack: Stack,
    task_id: str,
    *,
    by: str = "Ann",
    content: JsonObject | None = None,
    key: str | None = None,
    within: float = _PATIENCE,
) -> bool:
    """Approve the question that a task asks others than its caller; wait until it asks.

    Args:
        stack: The local stack.
        task_id: The task's id.
        by: Who approves: anybody, who has whatever the question's audience asks for and is not the caller. If it needs
            two approvals, approve it by two names.
        content: The filled form.
        key: The question's key, if the task asks several.
        within: The seconds to wait for the question.

    Returns:
        True if that decided the question, False if more people must approve.

    Raises:
        NotDecided: there is no such task or question, the form is filled wrongly, or this person has approved.
    """
    answer: JsonObject = {"action": "accept", "content": content or {}}
    return _person(stack, by).decide(task_id, answer, key=key, within=within)


def refuse(stack: Stack, task_id: str, *, by: str = "Ann", key: str | None = None, within: float = _PATIENCE) -> None:
    """Refuse the question that a task asks others than its caller; wait until it asks.

    Raises:
        NotDecided: there is no such task or question.
    """
    _person(stack, by).decide(task_id, {"action": "decline"}, key=key, within=within)


def _person(stack: Stack, name: str) -> "_Person":
    if MCP not in stack.functions:
        raise NotDecided("This stack has no function mcp, so nobody is asked.")
    return _Person(name, stack.functions[MCP], stack.client("dynamodb"))


@dataclass(frozen=True)
class _Person:
    """Somebody who decides the questions of a stack's tasks."""

    name: str
    """Anybody's. A second approval needs a second person."""
    function: Function
    """Function mcp of the stack."""
    client: Any
    """Of DynamoDB, with an operator's rights."""

    def decide(self, task_id: str, answer: Json, *, key: str | None, within: float) -> bool:
        """Wait until a task asks approvers, answer as an elicitation is answered, and tell whether that decided it.

        Raises:
            NotDecided: there is no such task or question, or this is no answer to it.
        """
        end = time.monotonic() + within
        with at_work(self.function) as deciders:
            task_key = self._key_of(task_id)
            while (question := self._question(deciders, task_key, key)) is None:
                if time.monotonic() > end:
                    raise NotDecided(f"After {within:g} seconds, the task asks nothing that {self.name} may decide.")
                time.sleep(_LOOK)
            try:
                voted = deciders.vote(question.key, self.name, answer)
            except UnknownApproval as error:
                raise NotDecided(str(error)) from None
        if isinstance(voted, WrongAnswer):
            raise NotDecided(f"This cannot be the answer: {voted.reason}.")
        return isinstance(voted, Decision)

    def _question(self, deciders: Deciders, task_key: TaskKey, key: str | None) -> OpenQuestion | None:
        task = deciders.approvals.recorder.load(task_key)
        if task is None or task.has_ended:
            how = "it has expired" if task is None else f"it is {modern_status(task)}"
            raise NotDecided(f"The task asks nothing: {how}.")
        asked = [one for one in task.questions if approval_of(one.audience) and key in (None, one.key)]
        found = (deciders.required(QuestionKey(task_key, one.number), self.name) for one in asked)
        return next((one for one in found if one is not None), None)

    def _key_of(self, task_id: str) -> TaskKey:
        table = required(os.environ, "TABLE_NAME")
        with acting_as(None):
            pages = self.client.get_paginator("scan").paginate(
                TableName=table,
                FilterExpression="sk = :sk",
                ExpressionAttributeValues={":sk": {"S": TASK_PREFIX + task_id}},
            )
            items = [item for page in pages for item in page["Items"]]
        if not items:
            raise NotDecided(f"There is no task {task_id}.")
        return task_key_from_item(items[0])
