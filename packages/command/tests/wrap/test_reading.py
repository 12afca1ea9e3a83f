"""Reading an account: which state machines, within the quotas, and what is said if something is wrong."""

import json

import pytest
from botocore import exceptions
from botocore.parsers import ResponseParserError

from packages.command.tests.wrap.account import PREFIX, Account, Time
from stepwire_cli.account.errors import (
    AccountError,
    NoCredentials,
    NoRegion,
    NotAllowed,
    NothingChosen,
    NotThere,
    TooBusy,
    Unreachable,
    Unreadable,
)
from stepwire_cli.account.faults import told
from stepwire_cli.account.machines import Chosen, spread
from stepwire_cli.account.pacing import Pacer, Quota
from stepwire_wrap.definitions.drafts import draft
from stepwire_wrap.findings import LARGEST_PARAMETER

# The smallest quotas of any Region: bucket and refill a second.
OF_AWS = {
    "describe_state_machine": (200, 20),
    "list_executions": (200, 5),
    "describe_execution": (250, 10),
}


def account_of_forty() -> Account:
    account = Account()
    for number in range(40):
        account.add(f"Machine{number:02}", team="x")
        for _ in range(30):
            account.run(f"Machine{number:02}", {"id": "a"})
    return account


def test_forty_state_machines_take_about_a_minute_of_quota() -> None:
    account = account_of_forty()
    reader = account.reader()

    read = [reader.read(arn) for arn in reader.arns(Chosen(tag=("team", "x")))]

    assert len(read) == 40
    assert {one.history.inputs.count for one in read} == {20}
    assert {len(one.history.seconds) for one in read} == {30}
    assert account.count["describe_execution"] == 800
    assert 40 <= account.time.now <= 75


@pytest.mark.parametrize("operation", OF_AWS)
def test_no_second_and_no_minute_has_more_calls_than_the_smallest_quota(operation: str) -> None:
    bucket, refill = OF_AWS[operation]
    account = account_of_forty()
    times: list[float] = []
    account.at_each_call = lambda name: times.append(account.time.now) if name == operation else None
    reader = account.reader()
    for arn in reader.arns(Chosen(tag=("team", "x"))):
        reader.read(arn)

    left, at = float(bucket), 0.0
    for time in times:
        left, at = min(bucket, left + (time - at) * refill) - 1, time
        assert left >= 0


def test_a_pacer_gives_a_bucket_at_once_and_then_so_many_a_second() -> None:
    time = Time()
    pacer = Pacer(lambda: time.now, time.sleep, {"a:B": Quota(3, 2)})

    for _ in range(7):
        pacer.take("a:B")

    assert time.slept == [0.5] * 4


def test_a_throttled_operation_is_called_less_often_and_recovers() -> None:
    time = Time()
    pacer = Pacer(lambda: time.now, time.sleep, {"a:B": Quota(3, 2)})

    pacer.throttled("a:B")
    pacer.take("a:B")
    assert time.slept == [1.0]

    for _ in range(10):
        pacer.worked("a:B")
    pacer.take("a:B")
    assert time.slept[-1] == pytest.approx(0.5)


def test_a_throttled_call_is_made_again_and_no_run_is_missed() -> None:
    account = account_of_forty()
    account.faults["describe_execution"] = ["ThrottlingException", "none", "ThrottlingException", "none"]

    read = account.reader().read(f"{PREFIX}Machine00")

    assert (read.history.inputs.count, read.problems) == (20, ())


def test_throttling_without_end_is_told_and_the_definition_is_used() -> None:
    account = account_of_forty()
    account.faults["describe_execution"] = ["ThrottlingException"]

    read = account.reader().read(f"{PREFIX}Machine00")

    (problem,) = read.problems
    assert problem.startswith("AWS throttles stepfunctions:DescribeExecution")
    assert read.history.inputs.count == 0
    assert account.time.now < 60


def test_machines_are_chosen_by_name_arn_tag_and_stack_each_once() -> None:
    account = Account()
    names = [account.add(name, team="x" if name in "BC" else "y") for name in "ABCD"]
    a, b, c, d = names
    machine, stack = "AWS::StepFunctions::StateMachine", "AWS::CloudFormation::Stack"
    account.stacks = {"outer": [(machine, d), ("AWS::S3::Bucket", "x"), (stack, "inner")], "inner": [(machine, c)]}
    reader = account.reader()

    assert reader.arns(Chosen(["A", b])) == [a, b]
    assert reader.arns(Chosen(["C"], ("team", "x"), "outer")) == [c, b, d]


@pytest.mark.parametrize(
    ("chosen", "kind", "words"),
    [
        (Chosen(), NothingChosen, "name state machines, choose them by --tag KEY=VALUE or --stack NAME, or give a "
         "file or folder"),
        (Chosen(["Order"]), NotThere, "Order: no state machine of this account and Region has that name; "
         "did you mean Orders?"),
        (Chosen(["zzz"]), NotThere, "zzz: no state machine of this account and Region has that name; "
         "there are 1; check --region and --profile"),
        (Chosen(tag=("team", "z")), NotThere, "no state machine of this account and Region has the tag team=z"),
        (Chosen(stack="gone"), NotThere, "there is no stack gone in this account and Region: check the name, "
         "--region and --profile; `aws cloudformation describe-stacks --query 'Stacks[].StackName'` lists the stacks"),
        (Chosen(stack="empty"), NotThere, "the stack empty has no state machine"),
    ],
)  # fmt: skip
def test_a_wrong_choice_is_one_line(chosen: Chosen, kind: type[AccountError], words: str) -> None:
    account = Account(stacks={"empty": []})
    account.add("Orders")

    with pytest.raises(kind) as raised:
        account.reader().arns(chosen)

    assert str(raised.value) == words


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("AccessDeniedException", NotAllowed,
         f"{PREFIX}Orders: these credentials may not states:DescribeStateMachine: add the permission"),
        ("KmsAccessDeniedException", NotAllowed,
         f"{PREFIX}Orders: these credentials may not states:DescribeStateMachine, and the key that encrypts it: "
         "add the permission"),
        ("ExpiredTokenException", NoCredentials,
         "the credentials for AWS are not valid, or have expired (ExpiredTokenException): sign in again"),
        ("StateMachineDoesNotExist", NotThere, f"{PREFIX}Orders: there is none in this account and Region"),
        ("SomethingNew", AccountError,
         f"{PREFIX}Orders: stepfunctions:DescribeStateMachine was refused: SomethingNew: SomethingNew for you"),
        ("Throttling", TooBusy,
         "AWS throttles stepfunctions:DescribeStateMachine of this account: others use its quota; "
         "try again later, or with fewer names"),
    ],
)  # fmt: skip
def test_a_refusal_of_aws_is_one_line(code: str, kind: type[AccountError], words: str) -> None:
    account = Account(faults={"describe_state_machine": [code]})
    account.add("Orders")

    with pytest.raises(kind) as raised:
        account.reader().read(f"{PREFIX}Orders")

    assert str(raised.value) == words


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (NoCredentials, 4),
        (NoRegion, 2),
        (Unreachable, 3),
        (NotAllowed, 4),
        (NotThere, 5),
        (TooBusy, 1),
        (NothingChosen, 2),
    ],
)
def test_each_error_has_the_exit_code_of_the_command_s_own(kind: type[AccountError], code: int) -> None:
    assert kind("x").code == code


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (exceptions.NoRegionError(), NoRegion, "no Region: add --region, or set AWS_REGION"),
        (exceptions.InvalidRegionError(region_name="x y"), NoRegion, "correct --region or AWS_REGION"),
        (exceptions.NoCredentialsError(), NoCredentials, "no credentials for AWS: sign in"),
        (exceptions.PartialCredentialsError(provider="env", cred_var="x"), NoCredentials, "a part of the credentials"),
        (exceptions.CredentialRetrievalError(provider="p", error_msg="e"), NoCredentials, "for AWS cannot be had: "),
        (exceptions.UnauthorizedSSOTokenError(), NoCredentials, "the session with AWS is over: sign in"),
        (exceptions.LoginRefreshRequired(), NoCredentials, "the session with AWS is over: sign in"),
        (exceptions.ProfileNotFound(profile="x"), NoCredentials, "`aws configure list-profiles` lists those there are"),
        (ResponseParserError("<html>"), Unreachable, "what answers a:B is not AWS"),
        (exceptions.EndpointConnectionError(endpoint_url="u"), Unreachable, "AWS cannot be reached for a:B: check the"),
        (exceptions.ConnectTimeoutError(endpoint_url="u"), Unreachable, "AWS cannot be reached for a:B: check the"),
        (exceptions.ReadTimeoutError(endpoint_url="u"), Unreachable, "AWS cannot be reached for a:B: check the"),
        (exceptions.SSLError(endpoint_url="u", error=OSError("e")), Unreachable, "AWS cannot be reached for a:B"),
        (exceptions.ProxyConnectionError(proxy_url="u"), Unreachable, "the proxy cannot be reached: check HTTPS_PROXY"),
        (exceptions.UnknownServiceError(service_name="s", known_service_names=""), AccountError,
         "the configuration of AWS cannot be used for a:B"),
        (ValueError("Invalid endpoint: x"), AccountError, "cannot be used for a:B: Invalid endpoint: x"),
    ],
)  # fmt: skip
def test_a_fault_before_aws_answers_is_one_line(error: Exception, kind: type[AccountError], words: str) -> None:
    found = told(error, "a:B")

    assert type(found) is kind
    assert words in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize("definition", ["", "{", "[]", "ENCRYPTED"])
def test_a_definition_that_cannot_be_read_is_one_line(definition: str) -> None:
    account = Account()
    account.add("Orders", definition)

    with pytest.raises(Unreadable, match="Orders: its definition cannot be read: is it encrypted with a key of yours"):
        account.reader().read(f"{PREFIX}Orders")


def test_a_definition_of_1_mb_is_read_and_becomes_a_manifest() -> None:
    account = Account()
    states = {
        f"State{number}": {"Type": "Pass", "Next": f"State{number + 1}", "Comment": "x" * 440}
        for number in range(2_000)
    }
    last = {"State2000": {"Type": "Pass", "InputPath": "$.order", "End": True}}
    definition = json.dumps({"StartAt": "State0", "States": {**states, **last}})
    assert 1_000_000 < len(definition) < 1_048_576
    account.add("Orders", definition)

    read = account.reader().read(f"{PREFIX}Orders")
    made = draft("orders", read.machine, read.history)

    assert read.problems == ()
    assert made.manifest["input_schema"]["required"] == ["order"]
    assert len(made.parameter().encode()) <= LARGEST_PARAMETER


def test_runs_that_may_not_be_read_leave_the_definition_and_the_times() -> None:
    account = Account(faults={"describe_execution": ["AccessDeniedException"]})
    account.add("Orders")
    account.run("Orders", {"a": 1})

    read = account.reader().read(f"{PREFIX}Orders")

    assert read.history.inputs.count == 0
    assert list(read.history.seconds) == [1.0]
    assert [one.partition(" may not ")[2] for one in read.problems] == ["states:DescribeExecution: add the permission"]


def test_an_express_state_machine_has_no_runs_to_read_and_none_are_asked_for() -> None:
    account = Account()
    account.add("Fast", kind="EXPRESS")

    assert account.reader().read(f"{PREFIX}Fast").machine.is_express
    assert account.count["list_executions"] == 0


def test_runs_without_input_or_that_still_run_are_no_fault() -> None:
    account = Account()
    account.add("Orders")
    account.run("Orders", {"a": 1}, input=None)
    account.run("Orders", {"a": 1}, input="{")
    account.run("Orders", {"a": 1}, status="RUNNING", stopDate=None)
    account.run("Orders", {"a": 1}, status="FAILED", error="E", cause="because")

    history = account.reader().read(f"{PREFIX}Orders").history

    assert (history.inputs.count, len(history.seconds), [one.error for one in history.failures]) == (0, 3, ["E"])


def test_samples_are_spread_over_all_runs_that_are_known() -> None:
    assert spread(range(100), 4) == [0, 25, 50, 75]
    assert spread(range(3), 4) == [0, 1, 2]
