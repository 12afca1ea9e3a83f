"""`stepwire caller show`, `export` and `erase`: what an operator reads, and what is asked of AWS."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, Final

import pytest
from msgspec.structs import replace

from packages.command.tests.aws import CREDENTIALS, Aws, Refusal, aws_at
from packages.command.tests.operated import (
    ID,
    NEXT,
    OWNER,
    SECRET,
    TOKEN,
    Stepwire,
    asking,
    completed,
    moment,
    working,
)
from packages.command.tests.terminal import at_a_terminal
from stepwire.aws.s3 import prefix_of
from stepwire.aws.storage.items import divided
from stepwire.aws.storage.table import Item, in_milliseconds
from stepwire.extras.callers.storage import LIST, PARTITION, record_key
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Task
from stepwire_cli.exits import Exit
from stepwire_cli.extras.callers.erasing import Remains
from tests.extras.callers.test_callers_command import Runs, endpoint, held

OPERATOR: Final = "arn:aws:lambda:eu-central-1:123456789012:function:live-OperatorFunction"


def holding(*items: Item, blocked: bool = False) -> Aws:
    """Return an account whose table has these items of the caller, two on each page."""
    listed = {**LIST, "callers": {"SS": [OWNER]}}
    noted = {**record_key(OWNER), "since": in_milliseconds(datetime(2026, 11, 25, 3, tzinfo=UTC)),
             "operator": {"S": "arn:olga"}}  # fmt: skip
    found = {one["sk"]["S"]: one for one in (listed, noted)} if blocked else {}

    def query(given: Mapping[str, Any]) -> Any:
        prefix = given["ExpressionAttributeValues"].get(":prefix", {"S": ""})["S"]
        after = given.get("ExclusiveStartKey", {"sk": {"S": ""}})["sk"]["S"]
        mine = sorted((one for one in items if one["sk"]["S"].startswith(prefix)), key=lambda one: one["sk"]["S"])
        left = [one for one in mine if one["sk"]["S"] > after]
        last = {"LastEvaluatedKey": {name: left[1][name] for name in ("pk", "sk")}} if len(left) > 2 else {}
        return {"Items": left[:2], **last}

    def load(given: Mapping[str, Any]) -> Any:
        item = found.get(given["Key"]["sk"]["S"])
        return {"Item": item} if item else {}

    aws = endpoint()
    aws.answers |= {"Query": query, "GetItem": load}
    return aws


def test_a_caller_is_shown_without_what_it_sent(in_account: Stepwire) -> None:
    aws = holding(divided(asking(moment())).item, blocked=True)

    code, out, _ = in_account(aws, "caller", "show", OWNER)

    lines = out.splitlines()
    assert code == Exit.DONE
    assert lines[:3] == [
        f"caller     {OWNER}, blocked since 2026-11-25 03:00:00Z by arn:olga",
        "tasks      1 input_required",
        f"  {ID}  settle_invoices  input_required  question 1: form",
    ]
    assert SECRET not in out


def test_a_caller_who_has_nothing_is_shown(in_account: Stepwire) -> None:
    _, out, _ = in_account(holding(), "caller", "show", OWNER)

    assert out.splitlines()[:2] == [f"caller     {OWNER}, not blocked", "tasks      none"]


def test_all_of_a_caller_is_exported_as_lines_without_secrets(
    in_account: Stepwire,
) -> None:
    usage: Item = {
        "pk": {"S": OWNER},
        "sk": {"S": "usage#0"},
        "active": {"SS": [ID]},
        "expires_at": {"N": "1800000000"},
    }
    aws = holding(divided(asking(moment())).item, usage)
    aws.answers |= {"ListObjectsV2": [f"{prefix_of(OWNER)}{NEXT}/d"], "GetObject": '{"content": []}'}

    _, out, said = in_account(aws, "caller", "export", OWNER)

    lines = [json.loads(line) for line in out.splitlines()]
    assert [one["kind"] for one in lines] == ["task", "usage", "result", "audit"]
    assert lines[0]["data"]["arguments"] == {"customer": SECRET}
    assert lines[1]["expires_at"] == "2027-01-15T08:00:00+00:00"
    assert lines[2] == {"kind": "result", "taskId": NEXT, "result": {"content": []}}
    assert lines[3]["logsInsightsQuery"] == f'filter principal = "{OWNER}" | sort @timestamp'
    assert TOKEN not in out
    assert "3 things are held" in said


# --------------------------------------------------------------------------------------------------------------- erase


class Holding:
    """What is held of a caller: items, large results, and what was noted of an erasure."""

    def __init__(self, running: int = 0, ended: int = 2, *, has_result: bool = True) -> None:
        tasks = [replace(finished(moment()), task_id=numbered(one)) for one in range(ended)]
        tasks += [replace(working(moment()), task_id=numbered(ended + one)) for one in range(running)]
        self.items = {item["sk"]["S"]: item for item in (divided(task).item for task in tasks)}
        self.results = [f"{prefix_of(OWNER)}{NEXT}/d"] if has_result else []
        self.done = list[str]()
        self.refuses_at = 0
        """Which deletion of an item is refused, the first being 1."""
        self.aws = endpoint(Query=self.query, DeleteItem=self.delete, ListObjectsV2=self.list_objects,
                            DeleteObject=self.delete_object, Invoke=self.command)  # fmt: skip

    def query(self, given: Any) -> Any:
        return held(*(item for _, item in sorted(self.items.items())))

    def delete(self, given: Any) -> Any:
        self.done.append("delete item")
        if self.done.count("delete item") == self.refuses_at:
            return Refusal("AccessDeniedException")
        del self.items[given["Key"]["sk"]["S"]]
        return {}

    def list_objects(self, given: Any) -> Any:
        return self.results

    def delete_object(self, given: Any) -> Any:
        self.done.append("delete result")
        self.results.remove(given["path"].removeprefix("/live-LargeResults/"))
        return None

    def command(self, given: Any) -> Any:
        self.done.append(f"{given['command']} {given.get('state', '')}".strip())
        if given["command"] == "cancel_tasks":
            for key in self.items:
                self.items[key] = divided(replace(finished(moment()), task_id=key.removeprefix("task#"))).item
            return {"done": {"cancelled": 3, "ended": 0, "failed": [], "after": None, "is_busy": False}}
        return {"done": {}}


def finished(at: datetime) -> Task:
    """Return a task that has ended, whose execution is named after it."""
    return replace(completed(at), last_updated_at=datetime(2026, 11, 25, 12, tzinfo=UTC))


def numbered(number: int) -> TaskId:
    """Return the id of one of several tasks."""
    return TaskId(f"{ID[:-2]}{number:02d}")


def erased(in_account: Stepwire, holding: Holding, *words: str) -> tuple[int, str, str]:
    return in_account(holding.aws, "caller", "erase", OWNER, *words)


def test_what_remains_is_named_before_anything_is_erased(in_account: Stepwire) -> None:
    holding = Holding()

    code, out, said = erased(in_account, holding, "--yes")

    assert code == Exit.DONE
    assert holding.done == [
        "note_erasure begins", "delete result", "delete item", "delete item", "note_erasure done"
    ]  # fmt: skip
    lines = out.splitlines()
    assert [line.partition("  ")[2] for line in lines[:2]] == ["until 2027-02-23"] * 2
    assert [line.partition("  ")[0][-36:] for line in lines[:2]] == [numbered(0), numbered(1)]
    assert lines[2:4] == [
        f"{OWNER}: 2 items and 1 large results are erased.",
        "What remains, and for how long:",
    ]
    assert "the histories of the 2 executions above" in out
    assert "the last 35 days" in out
    assert said.splitlines()[0] == "erasing: 0 items, 1 large results"


def test_whoever_erases_a_caller_of_whom_nothing_is_held_is_warned(in_account: Stepwire) -> None:
    code, out, said = erased(in_account, Holding(ended=0, has_result=False), "--yes")

    assert (code, out.splitlines()[0]) == (Exit.DONE, f"{OWNER}: 0 items and 0 large results are erased.")
    assert said.splitlines()[-1] == f"Nothing is held of {OWNER}: is it the right caller?"


@pytest.mark.parametrize(
    ("running", "words", "line"),
    [
        (3, ("--yes",), f"3 tasks of {OWNER} have not ended: add --cancel, or wait for them."),
        (0, (), f"Nobody can be asked here: add --yes to erase what is held of {OWNER}."),
    ],
)
def test_nothing_is_erased_while_something_runs_or_nobody_agrees(
    in_account: Stepwire, running: int, words: tuple[str, ...], line: str
) -> None:
    holding = Holding(running)

    code, _, said = erased(in_account, holding, *words)

    assert (code, said) == (Exit.USAGE, f"error: {line}\n")
    assert holding.done == []


@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        (["3f2a9c41"], Exit.DONE, "are erased."),
        (["3f2a9c4", "3f2a9c41"], Exit.DONE, "That is not how the hash begins."),
        (["3f2a9c4", ""], Exit.USAGE, "Nothing was erased."),
    ],
)
def test_the_beginning_of_the_hash_is_typed_to_agree(typed: list[str], code: Exit, words: str) -> None:
    holding = Holding()
    with aws_at(holding.aws) as url:
        command = ["caller", "erase", OWNER, "--stack", "live"]
        environment = {**CREDENTIALS, "AWS_ENDPOINT_URL": url}
        prompts = ["Type 3f2a9c41", "ends without erasing anything."]
        session = at_a_terminal(command, [(prompt, f"{one}\n") for prompt, one in zip(prompts, typed, strict=False)],
                                environment=environment)  # fmt: skip

    assert session.code == code
    assert words in session.text
    assert bool(holding.done) == (code == Exit.DONE)


def test_what_runs_is_cancelled_first_if_asked_to(in_account: Stepwire) -> None:
    holding = Holding(running=3)

    code, _, _ = erased(in_account, holding, "--yes", "--cancel")

    assert code == Exit.DONE
    assert holding.done[:3] == ["cancel_tasks", "note_erasure begins", "delete result"]


def test_an_interrupted_erasure_is_said_and_the_same_command_does_the_rest(in_account: Stepwire) -> None:
    holding = Holding()
    holding.refuses_at = 1

    code, _, said = erased(in_account, holding, "--yes")
    noted = holding.done[-1]
    again, out, _ = erased(in_account, holding, "--yes")

    assert code == Exit.SIGN_IN
    assert noted == "note_erasure goes on"
    assert said.splitlines()[-2:] == [
        "Interrupted: 0 items are erased. The same command does the rest.",
        "error: live-TasksTable: these credentials may not dynamodb:DeleteItem: add the permission",
    ]
    assert again == Exit.DONE
    assert "are erased." in out
    assert holding.items == {}


def test_nothing_is_erased_that_cannot_be_noted_in_the_audit_trail(in_account: Stepwire) -> None:
    holding = Holding()
    holding.aws.answers["Invoke"] = Refusal("AccessDeniedException", status=403)

    code, _, said = erased(in_account, holding, "--yes")

    assert code == Exit.SIGN_IN
    assert "may not lambda:InvokeFunction" in said
    assert holding.done == []


def test_an_older_stack_is_said(in_account: Stepwire) -> None:
    aws = endpoint(Invoke=Runs())
    aws.answers["DescribeStackResource"] = Refusal("ValidationError", "Resource does not exist")

    code, out, said = in_account(aws, "caller", "erase", OWNER, "--yes")

    assert (code, out) == (Exit.UNKNOWN, "")
    assert len(said.splitlines()) == 1


def test_a_caller_without_executions_leaves_no_histories() -> None:
    assert not [row for row in Remains().rows() if "Step Functions" in row]


@pytest.mark.parametrize(
    ("operation", "permission"),
    [("Query", "dynamodb:Query"), ("ListObjectsV2", "s3:ListBucket"), ("GetObject", "s3:GetObject")],
)
def test_an_export_that_may_not_read_names_the_permission(
    in_account: Stepwire, operation: str, permission: str
) -> None:
    aws = holding(divided(asking(moment())).item)
    aws.answers |= {"ListObjectsV2": [f"{prefix_of(OWNER)}{NEXT}/d"], "GetObject": '{"content": []}'}
    aws.answers[operation] = Refusal("AccessDenied", status=403)

    code, _, said = in_account(aws, "caller", "export", OWNER)

    assert code == Exit.SIGN_IN
    assert f"these credentials may not {permission}: add the permission" in said.splitlines()[-1]


# -------------------------------------------------------------------------------------------------------- who may what

_WORK: Final[dict[str, tuple[str, ...]]] = {
    "read": ("show", "export"),
    "block": ("block", "unblock"),
    "cancel": ("cancel-all",),
    "erase": ("erase",),
}
_ACTIONS: Final = {"dynamodb:Scan", "iam:GetRole", "iam:GetUser", "sts:GetCallerIdentity"}
"""To find callers in another way than these tests; and what everybody may."""


def policy(in_account: Stepwire, work: str, key: str = "") -> dict[str, Any]:
    code, out, _ = in_account(endpoint(key=key), "caller", "policy", work)
    assert code == Exit.DONE
    return json.loads(out)


def answering(given: Mapping[str, Any]) -> Any:
    if given["command"] in ("block", "unblock"):
        return {"done": {"hashes": [OWNER], "holds_within_seconds": 30}}
    return Runs(running=1)(given) if "tasks" in given["command"] else {"done": {}}


@pytest.mark.parametrize("work", _WORK)
def test_a_policy_permits_what_its_commands_call_and_nothing_else(in_account: Stepwire, work: str) -> None:
    called, aliases = set[str](), set[str]()
    for words in (*((one, OWNER) for one in _WORK[work]), ("whois", ID), ("whois", "--sub", "alice")):
        aws = Holding().aws if words[0] == "erase" else holding(divided(asking(moment())).item)
        if words[0] == "export":
            aws.answers |= {"ListObjectsV2": [f"{prefix_of(OWNER)}{NEXT}/d"], "GetObject": "{}"}
        if words[0] != "erase":
            aws.answers["Invoke"] = answering
        if words[0] == "whois":
            aws.answers |= {name: endpoint().answers[name] for name in ("Query", "GetItem")}
        yes = ("--yes",) if words[0] in ("block", "cancel-all", "erase") else ()
        assert in_account(aws, "caller", *words, *yes)[0] == Exit.DONE
        called |= {name for name, _ in aws.calls}
        aliases |= {given["alias"] for name, given in aws.calls if name == "Invoke"}

    allowed = [one for one in policy(in_account, work)["Statement"] if one["Effect"] == "Allow"]

    actions = {action for one in allowed for action in one["Action"]} | _ACTIONS
    names = {"lambda:InvokeFunction": "Invoke", "s3:ListBucket": "ListObjectsV2"}
    assert {names.get(action, action.partition(":")[2]) for action in actions - _ACTIONS} == called - {
        action.partition(":")[2] for action in _ACTIONS
    }
    invoked = [one["Resource"] for one in allowed if one["Action"] == ["lambda:InvokeFunction"]]
    assert invoked == [f"{OPERATOR}:{alias}" for alias in aliases]


@pytest.mark.parametrize("work", _WORK)
def test_a_policy_lets_a_caller_be_found_by_the_keys_of_a_task_alone(in_account: Stepwire, work: str) -> None:
    aws = endpoint()
    assert in_account(aws, "caller", "whois", ID)[0] == Exit.DONE

    statement = next(one for one in policy(in_account, work)["Statement"] if one["Sid"] == "FindTheCallerOfATask")
    allowed = statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"]
    searches = [given for name, given in aws.calls if name in {"Query", "Scan"}]
    assert len(searches) > 1
    for given in searches:
        assert statement["Condition"]["StringEquals"] == {"dynamodb:Select": given["Select"]}
        expressions = " ".join(text for name, text in given.items() if name.endswith("Expression"))
        names = re.findall(r"(?<![:#\w])\w+", expressions) + list(given.get("ExpressionAttributeNames", {}).values())
        assert set(names) <= set(allowed)
    assert set(allowed) == {"pk", "sk", "open", "checked_at"}


@pytest.mark.parametrize("work", _WORK)
def test_a_policy_lets_data_be_decrypted_that_the_operator_s_own_key_encrypts(in_account: Stepwire, work: str) -> None:
    """DynamoDB and S3 use the key with the permissions of whoever reads; without such a key they need none."""
    key = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d"

    with_key, without = (policy(in_account, work, one)["Statement"] for one in (key, ""))

    (added,) = [one for one in with_key if one not in without]
    assert (added["Effect"], added["Action"], added["Resource"]) == ("Allow", ["kms:Decrypt"], key)
    readers = ["dynamodb.eu-central-1.*", *(["s3.eu-central-1.*"] if work == "read" else [])]
    assert added["Condition"] == {"StringLike": {"kms:ViaService": readers}}


def test_nobody_can_both_block_and_erase(in_account: Stepwire) -> None:
    block, erase = (policy(in_account, work)["Statement"] for work in ("block", "erase"))

    def found(statements: list[dict[str, Any]], effect: str, action: str) -> list[Any]:
        return [one["Resource"] for one in statements if one["Effect"] == effect and action in one["Action"]]

    table, results = (
        "arn:aws:dynamodb:eu-central-1:123456789012:table/live-TasksTable",
        "arn:aws:s3:::live-LargeResults/*",
    )
    invoke = "lambda:InvokeFunction"
    assert found(block, "Allow", invoke) == found(erase, "Deny", invoke) == [f"{OPERATOR}:blocks"]
    assert found(erase, "Allow", "dynamodb:DeleteItem") == [table]
    assert found(erase, "Allow", "s3:DeleteObject") == [results]
    assert found(block, "Deny", "dynamodb:DeleteItem") == found(block, "Deny", "s3:DeleteObject") == [[table, results]]


def test_whoever_erases_cannot_unblock_by_deleting_the_list(in_account: Stepwire) -> None:
    (statement,) = (one for one in policy(in_account, "erase")["Statement"] if one["Sid"] == "EraseWhatIsHeld")

    patterns = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]

    assert not any(fnmatchcase(PARTITION, pattern) for pattern in patterns)
    assert any(fnmatchcase(OWNER, pattern) for pattern in patterns)
    assert "dynamodb:PutItem" not in json.dumps(policy(in_account, "erase"))
