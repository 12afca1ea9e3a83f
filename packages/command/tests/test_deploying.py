"""`stepwire deploy`, `upgrade`, `status` and `destroy`, against an account that can be interrupted at every call."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest
import yaml

from packages.command.tests.fake_cloudformation import ACCOUNT, REGION, URL, FakeAccount, refusal
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NoCredentials
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.deployment import deploying
from stepwire_cli.deployment.commands import Deployment, deploy, status
from stepwire_cli.deployment.in_use import Use
from stepwire_cli.deployment.release import Cost, Created, Extra, Release
from stepwire_cli.deployment.removing import Removal, destroy
from stepwire_cli.deployment.stack import described
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen

TEMPLATE: Final = r"""
Parameters:
  Authorizer: {Type: String, AllowedValues: [jwt, iam, none], Description: How callers sign in.}
  Alarms: {Type: String, Default: essential, Description: Which alarms there are.}
  Title:
    Type: String
    Description: x
    Default: Stepwire
    AllowedPattern: '[^\x00-\x1f]{1,40}'
    ConstraintDescription: 1 to 40 characters, without line breaks
  CallbackUrls: {Type: CommaDelimitedList, Description: x, Default: '', AllowedPattern: '[a-z]+://\S+|'}
  ArtifactBucket: {Type: String, Description: x}
  ArtifactPrefix: {Type: String, Default: stepwire/, Description: x}
Conditions:
  HasAllAlarms: {'Fn::Equals': [{Ref: Alarms}, all]}
  HasCallbacks: {'Fn::Not': [{'Fn::Equals': [{'Fn::Join': ['', {Ref: CallbackUrls}]}, '']}]}
  HasBoth: {'Fn::And': [{Condition: HasAllAlarms}, {'Fn::Or': [{Condition: HasCallbacks}, {Condition: HasAllAlarms}]}]}
Resources:
  Api: {Type: 'AWS::ApiGatewayV2::Api'}
  TasksTable: {Type: 'AWS::DynamoDB::Table', DeletionPolicy: Retain}
  LargeResults: {Type: 'AWS::S3::Bucket', DeletionPolicy: Retain}
Outputs:
  Version: {Value: '1.2.0'}
"""
RELEASE: Final = Release(
    "1.2.0",
    TEMPLATE,
    {"Api-1.zip": b"1", "Layer-2.zip": b"2"},
    Cost(1.87, {"Alarms=all": 2.1}),
    "1.0.0",
    creates=(
        Created("Api", "AWS::ApiGatewayV2::Api"),
        Created("TasksTable", "AWS::DynamoDB::Table"),
        Created("LargeResults", "AWS::S3::Bucket"),
        Created("Slow", "AWS::CloudWatch::Alarm", "HasAllAlarms"),
        Created("Stuck", "AWS::CloudWatch::Alarm", "HasBoth"),
        Created("Domain", "AWS::ApiGatewayV2::DomainName", "HasCallbacks"),
    ),
)
COLOUR: Final = """
Parameters:
  Colour: {Type: String, Default: red, Description: Of what., AllowedValues: [red, blue]}
Conditions:
  IsRed: {'Fn::Equals': [{Ref: Colour}, red]}
Resources:
  Paint: {Type: 'AWS::SQS::Queue', Condition: IsRed}
  Pictures: {Type: 'AWS::S3::Bucket', DeletionPolicy: Retain}
  Show: {Type: 'AWS::ApiGatewayV2::Route'}
  Painter:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: {Bucket: {Ref: ArtifactBucket}, Key: {'Fn::Sub': '${ArtifactPrefix}Painter-3.zip'}}
      Policies:
        - Statement:
            - {Effect: Allow, Action: ['s3:GetObject', 's3:PutObject'], Resource: '*'}
            - 'Fn::If':
                - IsRed
                - {Effect: Allow, Action: 'sqs:SendMessage', Resource: '*'}
                - {Ref: 'AWS::NoValue'}
            - {Effect: Deny, Action: 'kms:*', Resource: '*'}
Outputs:
  Extras: {Value: {'Fn::Join': [null, [colour]]}}
"""
TASTE: Final = """
Parameters:
  Authorizer: {AllowedValues: [tongue]}
Resources:
  Spice: {Type: 'AWS::SQS::Queue'}
Outputs:
  Extras: {Value: {'Fn::Join': [null, [taste]]}}
"""
WITH_EXTRAS: Final = replace(
    RELEASE,
    core=f"{TEMPLATE}  Extras: {{Value: {{'Fn::Join': [',', [core]]}}}}\n",
    files={**RELEASE.files, "Painter-3.zip": b"3"},
    parts={
        "colour/template.yaml": COLOUR,
        "colour/with_taste.yaml": "Resources: {Both: {Type: 'AWS::SQS::Queue'}}",
        "taste/template.yaml": TASTE,
    },
    extras={"colour": Extra("Colours.", Cost(0.5, {"Colour=blue": 0.25})), "taste": Extra("Tastes.", Cost(0.0))},
    chosen=("colour", "taste"),
    creates=(
        *RELEASE.creates,
        Created("Paint", "AWS::SQS::Queue", "IsRed", of="Paint"),
        Created("Pictures", "AWS::S3::Bucket", of="Pictures"),
        Created("Show", "AWS::ApiGatewayV2::Route", of="Show"),
        Created("Painter", "AWS::Lambda::Function", of="Painter"),
        Created("PainterRole", "AWS::IAM::Role", of="Painter"),
        Created("Spice", "AWS::SQS::Queue", of="Spice"),
        Created("Both", "AWS::SQS::Queue", of="Both"),
    ),
)
"""A release with two extras, one of which adds to the other."""
READING: Final = {"describe_stacks", "get_caller_identity", "head_bucket", "head_object", "list_stack_resources"}
"""The calls that change nothing."""
NEW: Final = Deployment("stepwire", {"Authorizer": "iam"}, agree=lambda _question: True, sleep=lambda _seconds: None)
REMOVAL: Final = Removal("stepwire", agree=lambda _question: True, sleep=lambda _seconds: None)
BUCKET: Final = f"stepwire-artifacts-{ACCOUNT}-{REGION}"


class Interrupted(BaseException):
    """Ctrl-C, or the end of the process."""


def calls_of(account: FakeAccount) -> Calls:
    return Calls(account.client, Pacer(lambda: 0.0, lambda _seconds: None), REGION)


def deployed(account: FakeAccount, options: Deployment = NEW, release: Release = RELEASE) -> int:
    return deploy(options, release, calls_of(account), Screen(as_json=False))


def upgrade(**more: Any) -> Deployment:
    return replace(NEW, **{"parameters": {}, "is_upgrade": True} | more)


def no(_question: str) -> bool:
    return False


def nothing(_account: FakeAccount) -> None:
    """Begin with an empty account."""


def upgraded(account: FakeAccount) -> int:
    return deployed(account, upgrade())


def removed(account: FakeAccount, options: Removal = REMOVAL) -> int:
    return destroy(options, calls_of(account), Screen(as_json=False))


class TestANewEndpoint:
    def test_is_made_and_says_how_it_is_reached(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()

        code = deployed(account)

        out = capsys.readouterr().out
        stack = account.stack("stepwire")
        assert code == Exit.DONE
        assert stack is not None
        assert stack.parameters == {"Authorizer": "iam", "ArtifactBucket": BUCKET, "ArtifactPrefix": "stepwire/"}
        assert URL in out
        assert set(account.buckets[BUCKET]) >= {"stepwire/Api-1.zip", "stepwire/Layer-2.zip"}

    def test_is_shown_before_it_is_made(self, capsys: pytest.CaptureFixture[str]) -> None:
        account, seen = FakeAccount(), list[str]()

        def agree(question: str) -> bool:
            seen.append(capsys.readouterr().out + question)
            return False

        code = deployed(account, replace(NEW, parameters={"Authorizer": "none", "Alarms": "all"}, agree=agree))

        (shown,) = seen
        assert shown.splitlines()[2:6] == [
            "created\t2 alarms\tCloudWatch::Alarm",
            "created\t1 api\tApiGatewayV2::Api",
            "created\t1 table\tDynamoDB::Table",
            "created\t1 bucket\tS3::Bucket",
        ]
        assert f"3 files of the release (0.0 MB) go to a new bucket, {BUCKET}." in shown
        assert "The internet reaches Api: everybody who learns its URL may call it." in shown
        assert "$3.97 a month" in shown
        assert shown.endswith("Create stepwire?")
        assert code == Exit.FAILED
        assert account.buckets == {}
        assert set(account.calls) <= READING

    def test_that_would_have_more_than_was_agreed_to_is_asked_about_again(self) -> None:
        account, asked = FakeAccount(), list[str]()
        account.changes = [{"Action": "Add", "LogicalResourceId": "Other", "ResourceType": "AWS::EC2::Instance"}]

        def agree(question: str) -> bool:
            asked.append(question)
            return len(asked) == 1

        code = deployed(account, replace(NEW, agree=agree))

        assert (code, asked) == (Exit.FAILED, ["Create stepwire?", "Create stepwire?"])
        assert "execute_change_set" not in account.calls
        assert "delete_stack" in account.calls

    def test_that_has_what_was_agreed_to_is_asked_about_once(self) -> None:
        account, asked = FakeAccount(), list[str]()

        def agree(question: str) -> bool:
            asked.append(question)
            return True

        code = deployed(account, replace(NEW, agree=agree))

        assert (code, asked) == (Exit.DONE, ["Create stepwire?"])

    @pytest.mark.parametrize(
        ("refused_change", "denied", "words"),
        [
            ("No\n updates.", "", "CloudFormation cannot make this change: No updates."),
            ("No updates.", "delete_change_set", "CloudFormation cannot make this change: No updates."),
            ("", "describe_change_set", "may not cloudformation:DescribeChangeSet"),
        ],
    )
    def test_whose_change_set_fails_says_why_and_leaves_nothing_that_it_may_delete(
        self, refused_change: str, denied: str, words: str
    ) -> None:
        account = FakeAccount(refused_change=refused_change, denied=frozenset({denied}))

        with pytest.raises(AccountError, match=words):
            deployed(account)

        assert ("delete_stack" in account.calls) is (denied != "delete_change_set")

    def test_takes_a_stack_in_review_and_leaves_it_to_its_owner_if_nobody_agrees(self) -> None:
        """Somebody else, or an earlier run, has made a change set that was not run."""
        account = FakeAccount()
        account.standing(parameters={"Alarms": "all"}).status = "REVIEW_IN_PROGRESS"

        disagreed = deployed(account, replace(NEW, agree=no))
        deletes = "delete_stack" in account.calls
        agreed = deployed(account)

        assert (disagreed, deletes, agreed) == (Exit.FAILED, False, Exit.DONE)

    def test_has_a_name_that_cloudformation_takes(self) -> None:
        account = FakeAccount()

        with pytest.raises(CommandError, match=r"'my_stack' is no name of a stack: use up to 128 letters"):
            deployed(account, replace(NEW, name="my_stack"))

        assert account.calls == ["describe_stacks"]

    def test_that_cannot_be_made_names_the_first_failure(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount(failures=[("Api", "You have too many of them."), ("TasksTable", "Cancelled.")])

        code = deployed(account)

        said = capsys.readouterr().err
        assert code == Exit.FAILED
        assert "It began with Api (AWS::Some::Thing): You have too many of them." in said
        assert "`stepwire destroy stepwire`" in said


def interrupted_at_each_call(
    begun: Callable[[], FakeAccount], command: Callable[[FakeAccount], int], is_done: bool
) -> Iterator[tuple[int, FakeAccount, int]]:
    """Interrupt a command at each of its calls and repeat it; yield the call's number, the account and the code."""
    whole = begun()
    command(whole)
    for last in range(1, len(whole.calls) + 1):
        account = begun()

        def interrupt(number: int, is_after: bool, last: int = last) -> None:
            if number == last and is_after == is_done:
                raise Interrupted

        account.interrupt = interrupt
        with pytest.raises(Interrupted):
            command(account)
        account.interrupt = lambda _number, _is_done: None
        try:
            code = command(account)
        except AccountError as busy:
            assert "--watch" in str(busy)  # noqa: PT017 - only where a change was on its way
            code = command(account)
        yield last, account, code


@pytest.mark.parametrize("is_done", [False, True], ids=["before AWS hears of it", "after AWS has done it"])
@pytest.mark.parametrize(
    ("begin", "command"),
    [
        (nothing, deployed),
        (FakeAccount.standing, upgraded),
    ],
    ids=["deploy", "upgrade"],
)
def test_a_deployment_that_ends_at_any_call_is_finished_by_the_same_command(
    begin: Callable[[FakeAccount], object], command: Callable[[FakeAccount], int], is_done: bool
) -> None:
    """CloudFormation ends by itself what it has begun; until then, the command says so."""

    def begun() -> FakeAccount:
        account = FakeAccount()
        begin(account)
        return account

    for last, account, code in interrupted_at_each_call(begun, command, is_done):
        stack = account.stack("stepwire")
        assert stack is not None, last
        assert (code, stack.template) == (Exit.DONE, TEMPLATE), last


@pytest.mark.parametrize("with_data", [False, True])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_removal_that_ends_at_any_call_is_finished_by_the_same_command(with_data: bool, is_done: bool) -> None:
    options = replace(REMOVAL, with_data=with_data)

    def begun() -> FakeAccount:
        account = FakeAccount()
        deployed(account)
        account.calls.clear()
        return account

    for last, account, code in interrupted_at_each_call(begun, partial(removed, options=options), is_done):
        assert code == Exit.DONE, last
        assert account.stack("stepwire") is None, last
        assert set(account.deleted) == ({"held-TasksTable", "held-LargeResults"} if with_data else set()), last


@pytest.mark.parametrize(
    ("begins", "command"), [("execute_change_set", upgraded), ("delete_stack", removed)], ids=["upgrade", "destroy"]
)
def test_who_can_follow_no_longer_is_told_that_cloudformation_goes_on(
    begins: str, command: Callable[[FakeAccount], int], capsys: pytest.CaptureFixture[str]
) -> None:
    account = FakeAccount()
    account.standing()

    def expire(_number: int, _is_done: bool) -> None:
        if begins in account.calls and account.calls[-1] == "describe_stacks":
            raise refusal("ExpiredToken")

    account.interrupt = expire
    with pytest.raises(NoCredentials):
        command(account)

    assert "CloudFormation goes on" in capsys.readouterr().err.splitlines()[-1]


class TestAnUpgrade:
    def test_keeps_the_parameters_that_nobody_names(self) -> None:
        account = FakeAccount()
        account.standing(parameters={"Alarms": "all"})

        code = deployed(account, upgrade())

        stack = account.stack("stepwire")
        assert code == Exit.DONE
        assert stack is not None
        assert (stack.parameters["Authorizer"], stack.parameters["Alarms"]) == ("iam", "all")
        assert "Removed" not in stack.parameters

    def test_that_changes_nothing_makes_no_change_set(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()
        deployed(account)
        account.calls.clear()

        code = deployed(account, upgrade())

        assert code == Exit.DONE
        assert "create_change_set" not in account.calls
        assert "already" in capsys.readouterr().err

    def test_lists_what_it_replaces_and_deletes(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount(
            changes=[
                {"Action": "Modify", "LogicalResourceId": "Api", "ResourceType": "AWS::A::Api", "Replacement": "True"},
                {
                    "Action": "Modify",
                    "LogicalResourceId": "B",
                    "ResourceType": "AWS::A::B",
                    "Replacement": "Conditional",
                },
                {"Action": "Modify", "LogicalResourceId": "C", "ResourceType": "AWS::A::C", "Replacement": "False"},
                {"Action": "Remove", "LogicalResourceId": "D", "ResourceType": "AWS::A::D", "PolicyAction": "Delete"},
                {"Action": "Remove", "LogicalResourceId": "E", "ResourceType": "AWS::A::E", "PolicyAction": "Retain"},
            ]
        )
        account.standing()
        questions = list[str]()

        def disagree(question: str) -> bool:
            questions.append(question)
            return question == "Upload them?"

        deployed(account, upgrade(agree=disagree))

        assert capsys.readouterr().out.splitlines()[2:7] == [
            "replaced\tApi\tA::Api",
            "changed, perhaps replaced\tB\tA::B",
            "deleted\tD\tA::D",
            "left behind\tE\tA::E",
            "changed\tC\tA::C",
        ]
        assert questions == ["Upload them?", "Change stepwire, and replace 1 of its resources?"]

    def test_that_nobody_agreed_to_uploads_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()
        account.standing()

        code = deployed(account, upgrade(agree=no))

        said = capsys.readouterr().err
        assert code == Exit.FAILED
        assert f"3 files of the release (0.0 MB) go to a new bucket, {BUCKET}." in said
        assert "Nothing was made, uploaded or changed." in said
        assert set(account.calls) <= READING

    @pytest.mark.parametrize(
        ("before", "options", "words"),
        [
            ("0.9.0", upgrade(), "upgrade to 1.0.0 first"),
            ("1.3.0", upgrade(), "--back"),
            ("1.3.0", upgrade(goes_back=True), None),
            ("1.1.9", upgrade(), None),
        ],
    )
    def test_goes_from_the_versions_that_it_may_follow(
        self, before: str, options: Deployment, words: str | None
    ) -> None:
        account = FakeAccount()
        account.standing().template = f"Outputs: {{Version: {{Value: '{before}'}}}}"

        if words is None:
            assert deployed(account, options) == Exit.DONE
        else:
            with pytest.raises(AccountError, match=words):
                deployed(account, options)

    def test_of_a_stack_that_fails_says_that_the_old_one_serves(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount(failures=[("Api", "No.")])
        account.standing()

        code = deployed(account, upgrade())

        assert code == Exit.FAILED
        assert "The stack is as it was before, and serves." in capsys.readouterr().err


class TestADryRun:
    @pytest.mark.parametrize("is_offline", [False, True])
    def test_of_a_new_stack_says_what_would_be_made_opened_asked_and_cost(
        self, is_offline: bool, capsys: pytest.CaptureFixture[str]
    ) -> None:
        account = FakeAccount()
        given = {"Authorizer": "none", "CallbackUrls": "app://a"}

        code = deployed(account, replace(NEW, parameters=given, is_dry_run=True, is_offline=is_offline))

        words = (
            "The account was not read: this is a new stack."
            if is_offline
            else f"3 files of the release (0.0 MB) go to a new bucket, {BUCKET}."
        )
        assert code == Exit.DONE
        assert capsys.readouterr().out.splitlines()[1:] == [
            "stepwire: version 1.2.0",
            "created\t1 api\tApiGatewayV2::Api",
            "created\t1 domain name\tApiGatewayV2::DomainName",
            "created\t1 table\tDynamoDB::Table",
            "created\t1 bucket\tS3::Bucket",
            "The internet reaches Api and Domain: everybody who learns its URL may call it.",
            "While nobody calls, it costs about $1.87 a month.",
            words,
            "It would ask: Create stepwire?",
        ]
        assert set(account.calls) <= (set() if is_offline else READING)

    def test_of_a_stack_that_is_there_says_what_it_would_gain_and_lose(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        account = FakeAccount()
        account.standing(kept={"Api": ("AWS::ApiGatewayV2::Api", "a"), "Old": ("AWS::SQS::Queue", "o")})

        code = deployed(account, upgrade(is_dry_run=True))

        shown = capsys.readouterr().out
        assert code == Exit.DONE
        assert "deleted\tOld\tSQS::Queue\ncreated\t1 table\tDynamoDB::Table\n" in shown
        assert "\tApiGatewayV2::Api" not in shown
        assert "What is changed or replaced, CloudFormation tells when it has the files." in shown
        assert set(account.calls) <= READING

    def test_for_a_program_is_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()

        deploy(replace(NEW, is_dry_run=True, is_offline=True), RELEASE, calls_of(account), Screen(as_json=True))

        found = json.loads(capsys.readouterr().out)
        assert found["created"] == {"AWS::ApiGatewayV2::Api": 1, "AWS::DynamoDB::Table": 1, "AWS::S3::Bucket": 1}
        assert (found["open"], found["dollars"], found["question"]) == (["Api"], 1.87, "Create stepwire?")

    def test_of_a_condition_that_nobody_can_read_is_refused(self) -> None:
        strange = replace(RELEASE, creates=(Created("Api", "AWS::ApiGatewayV2::Api", "IsGone"),))

        with pytest.raises(CommandError, match=r"a condition that cannot be read \('IsGone'\)"):
            deployed(FakeAccount(), replace(NEW, is_dry_run=True), strange)


def chosen(account: FakeAccount, *extras: str, release: Release = WITH_EXTRAS, **more: Any) -> int:
    """Deploy with these extras, and no other."""
    return deployed(account, replace(NEW, extras=extras, **more), release)


def extras_of(account: FakeAccount) -> tuple[str, ...] | None:
    return described(calls_of(account), "stepwire").extras


def resources_of(account: FakeAccount) -> set[str]:
    stack = account.stack("stepwire")
    assert stack is not None
    return set(yaml.safe_load(stack.template)["Resources"])


PICTURES: Final = Use("pictures", "nobody sees them.", "Print them first.", lambda _contents: "3")
SAID: Final = "colour, pictures: 3. Without the extra, nobody sees them. Print them first."


def losing(account: FakeAccount, agree_to_loss: Callable[[str], bool], *, as_json: bool = False, **more: Any) -> int:
    """Leave out an extra of which something is in use."""
    chosen(account, "colour", "taste")
    account.calls.clear()

    def uses_of(name: str) -> list[Use]:
        return [PICTURES] if name == "colour" else []

    options = upgrade(extras=("taste",), agree_to_loss=agree_to_loss, uses_of=uses_of, **more)
    return deploy(options, WITH_EXTRAS, calls_of(account), Screen(as_json=as_json))


class TestAnExtraInUse:
    def test_goes_only_after_a_question_of_its_own(self, capsys: pytest.CaptureFixture[str]) -> None:
        account, asked = FakeAccount(), list[str]()

        def agree(question: str) -> bool:
            asked.append(question)
            return True

        code = losing(account, agree, agree=agree)

        assert (code, extras_of(account)) == (Exit.DONE, ("taste",))
        assert asked[0] == "Remove colour although it is in use?"
        assert asked[-1] == "Change stepwire, remove colour?"
        assert SAID in capsys.readouterr().err

    def test_stays_if_nobody_agrees_and_nothing_is_written(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()

        code = losing(account, no)

        said = capsys.readouterr().err
        assert code == Exit.FAILED
        assert said.splitlines()[-2:] == [SAID, "Nothing was made, uploaded or changed."]
        assert set(account.calls) <= READING | {"get_template"}
        assert extras_of(account) == ("colour", "taste")

    @pytest.mark.parametrize("as_json", [False, True])
    def test_is_named_by_a_dry_run(self, as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()

        code = losing(account, no, as_json=as_json, is_dry_run=True)

        out = capsys.readouterr().out
        assert code == Exit.DONE
        if as_json:
            assert json.loads(out.splitlines()[-1])["inUse"] == [
                {
                    "extra": "colour",
                    "what": "pictures",
                    "seen": "3",
                    "then": "Without the extra, nobody sees them.",
                    "first": "Print them first.",
                }
            ]
        else:
            assert SAID in out.splitlines()
            assert "It would ask: Remove colour although it is in use? Change stepwire, remove colour?" in out

    def test_is_not_removed_by_yes_where_nobody_can_be_asked(self) -> None:
        """As in a pipeline: `--yes` was written before anybody knew of the loss."""
        account = FakeAccount()
        screen = Screen(as_json=True)

        with pytest.raises(CommandError, match="Nobody can be asked here: add --even-in-use to go on") as refused:
            losing(account, deploying.agreeing(screen, says_yes=False, option="--even-in-use"))
        writes = set(account.calls) - READING - {"get_template"}
        code = losing(FakeAccount(), deploying.agreeing(screen, says_yes=True, option="--even-in-use"))

        assert (refused.value.code, writes, code) == (Exit.USAGE, set(), Exit.DONE)


def test_the_releases_own_tools_are_not_left_without_an_extra_that_they_need() -> None:
    """Function mcp would refuse to start."""
    account, archive = FakeAccount(), io.BytesIO()
    tools = '{"tools":[{"tool":{"name":"paint","extras":{"colour":{}}}},{"tool":{"name":"draw"}}]}'
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("catalog.json", tools)
    release = replace(WITH_EXTRAS, files={**WITH_EXTRAS.files, "McpFunction-4.zip": archive.getvalue()})

    with pytest.raises(CommandError, match=r"\(paint needs colour\): .* --with colour,taste$"):
        chosen(account, "taste", release=release)
    refused = set(account.calls)
    code = chosen(account, "colour", release=release)

    assert refused <= READING
    assert code == Exit.DONE


BLUE: Final = {"Authorizer": "iam", "Colour": "blue"}
CORE: Final = {"Api", "TasksTable", "LargeResults"}
OF_COLOUR: Final = {"Paint", "Pictures", "Show", "Painter"}


class TestAChoiceOfExtras:
    @pytest.mark.parametrize(
        ("extras", "resources"),
        [
            (None, CORE | OF_COLOUR | {"Spice", "Both"}),
            (("taste", "colour"), CORE | OF_COLOUR | {"Spice", "Both"}),
            (("colour",), CORE | OF_COLOUR),
            (("taste",), CORE | {"Spice"}),
            ((), CORE),
        ],
    )
    def test_of_a_new_stack_is_what_it_is_made_of_and_what_it_says(
        self, extras: tuple[str, ...] | None, resources: set[str]
    ) -> None:
        account = FakeAccount()

        code = deployed(account, replace(NEW, extras=extras), WITH_EXTRAS)

        assert code == Exit.DONE
        assert resources_of(account) == resources
        assert extras_of(account) == tuple(sorted(("colour", "taste") if extras is None else extras))

    @pytest.mark.parametrize("extras", [(), ("colour",), ("taste",), ("colour", "taste")])
    def test_is_kept_by_an_upgrade_that_names_none(self, extras: tuple[str, ...]) -> None:
        account = FakeAccount()
        chosen(account, *extras)

        code = deployed(account, upgrade(), replace(WITH_EXTRAS, version="1.2.1", core=f"{WITH_EXTRAS.core}#\n"))

        assert (code, extras_of(account)) == (Exit.DONE, extras)

    def test_that_changes_nothing_makes_no_change_set(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()
        chosen(account, "taste")
        account.calls.clear()

        code = chosen(account, "taste")

        assert code == Exit.DONE
        assert "create_change_set" not in account.calls
        assert "already" in capsys.readouterr().err

    def test_of_a_stack_that_does_not_say_is_all(self) -> None:
        """As every stack had before there was a choice."""
        account = FakeAccount()
        account.standing()

        code = deployed(account, upgrade(), WITH_EXTRAS)

        assert (code, extras_of(account)) == (Exit.DONE, ("colour", "taste"))

    def test_takes_no_more_files_along_than_it_needs(self) -> None:
        account = FakeAccount()

        chosen(account, "taste")

        assert {"stepwire/Api-1.zip", "stepwire/Layer-2.zip"} < set(account.buckets[BUCKET])
        assert "stepwire/Painter-3.zip" not in account.buckets[BUCKET]

    def test_is_shown_with_what_each_extra_adds_opens_and_costs(self, capsys: pytest.CaptureFixture[str]) -> None:
        """With the chosen parameters and the other extras: without colour, taste alone adds less."""
        account = FakeAccount()
        given = {"Authorizer": "iam", "Colour": "blue"}

        chosen(account, "colour", parameters=given, is_dry_run=True, is_offline=True)

        shown = capsys.readouterr().out
        assert (
            "colour\ton\tColours.\t4 resources\ts3\tShow\t$0.75\n"
            "taste\toff\tTastes.\t2 resources\tnothing more\tnothing\t$0.00\n"
        ) in shown
        assert "it costs about $2.62 a month" in shown
        assert account.calls == []

    def test_that_leaves_an_extra_out_says_what_goes_with_it_before_anything_is_written(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        account, seen = FakeAccount(), list[str]()
        chosen(account, "colour", "taste")
        account.calls.clear()
        capsys.readouterr()
        going = (
            "colour goes, and with it Paint, Show, Painter, Both. What was in Pictures stays in the account, and is no "
            "longer of the stack."
        )

        def agree(question: str) -> bool:
            seen.append(capsys.readouterr().err + question)
            return False

        code = chosen(account, "taste", agree=agree)
        asked = dict.fromkeys(account.calls)
        dry = chosen(account, "taste", is_dry_run=True)

        assert (code, dry) == (Exit.FAILED, Exit.DONE)
        assert seen[0].startswith(going)
        assert seen[0].endswith("Upload them?")
        assert set(asked) <= READING | {"get_template"}
        shown = capsys.readouterr().out
        assert "colour\toff, goes\tColours.\t6 resources\ts3, sqs\tShow\t$0.50\n" in shown
        assert "left behind\tPictures\tS3::Bucket\n" in shown
        assert "taste\ton\tTastes.\t1 resource\tnothing more\tnothing\t$0.00\n" in shown
        assert going in shown
        assert "It would ask: Change stepwire, remove colour?" in shown

    def test_that_adds_an_extra_says_that_it_is_new(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()
        chosen(account)

        chosen(account, "taste", is_dry_run=True)

        assert "taste\ton, new\tTastes.\t1 resource\tnothing more\tnothing\t$0.00\n" in capsys.readouterr().out

    def test_for_a_program_is_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        options = replace(NEW, extras=("colour",), is_dry_run=True, is_offline=True)

        deploy(options, WITH_EXTRAS, calls_of(FakeAccount()), Screen(as_json=True))

        colour, taste = json.loads(capsys.readouterr().out)["extras"]
        assert colour == {
            "name": "colour",
            "description": "Colours.",
            "on": True,
            "was": True,
            "adds": 5,
            "rights": ["Painter s3:GetObject", "Painter s3:PutObject", "Painter sqs:SendMessage"],
            "open": ["Show"],
            "dollars": 0.5,
        }
        assert (taste["on"], taste["adds"]) == (False, 2)

    def test_is_what_status_names(self, capsys: pytest.CaptureFixture[str]) -> None:
        said = list[str]()
        for extras in (("colour", "taste"), ()):
            account = FakeAccount()
            chosen(account, *extras)
            capsys.readouterr()
            status("stepwire", calls_of(account), Screen(as_json=False), lambda _seconds: None, watches=False)
            status("stepwire", calls_of(account), Screen(as_json=True), lambda _seconds: None, watches=False)
            out = capsys.readouterr().out
            said += [line for line in out.splitlines() if line.startswith("extras ")]
            assert json.loads(out[out.index("{") :])["extras"] == list(extras)

        assert said == ["extras     colour, taste", "extras     none"]

    def test_of_an_extra_that_the_release_has_not_is_refused_before_the_account_is_read(self) -> None:
        account = FakeAccount()

        with pytest.raises(CommandError, match=r"smell: no such extra; version 1\.2\.0 has colour, taste"):
            chosen(account, "smell", "taste")

        assert account.calls == []

    def test_that_the_stack_has_and_the_release_has_not_is_refused_until_it_is_left_out(self) -> None:
        account = FakeAccount()
        chosen(account, "colour", "taste")
        parts = {"taste/template.yaml": TASTE}
        without = replace(WITH_EXTRAS, parts=parts, extras={"taste": WITH_EXTRAS.extras["taste"]}, chosen=("taste",))
        account.calls.clear()

        with pytest.raises(CommandError, match=r"colour: no such extra; .* --with taste$"):
            deployed(account, upgrade(), without)
        refused = set(account.calls)
        code = deployed(account, upgrade(extras=("taste",)), without)

        assert refused <= READING
        assert (code, extras_of(account)) == (Exit.DONE, ("taste",))

    def test_without_the_extra_of_a_parameter_is_refused_with_the_choice_that_has_it(self) -> None:
        account = FakeAccount()
        chosen(account, "taste")
        account.calls.clear()
        words = r"Colour is a parameter of the extra colour, which is not chosen: .* --with colour,taste$"

        for extras in (None, ("taste",)):
            with pytest.raises(CommandError, match=words):
                deployed(account, replace(NEW, extras=extras, parameters=BLUE), WITH_EXTRAS)

        assert set(account.calls) <= READING

    def test_without_the_extra_of_a_value_is_refused_also_where_the_stack_has_it(self) -> None:
        account = FakeAccount()
        words = r"Authorizer=tongue needs the extra taste, which is not chosen: give another value, .* --with taste$"
        with pytest.raises(CommandError, match=words):
            deployed(account, replace(NEW, extras=(), parameters={"Authorizer": "tongue"}), WITH_EXTRAS)
        chosen(account, "taste", parameters={"Authorizer": "tongue"})
        account.calls.clear()

        with pytest.raises(CommandError, match=words):
            deployed(account, upgrade(extras=()), WITH_EXTRAS)
        refused = set(account.calls)
        code = deployed(account, upgrade(extras=(), parameters={"Authorizer": "iam"}), WITH_EXTRAS)

        assert refused <= READING
        assert (code, extras_of(account)) == (Exit.DONE, ())


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("UPDATE_IN_PROGRESS", "--watch"),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "--watch"),
        ("SOME_NEW_STATE_IN_PROGRESS", "--watch"),
        ("ROLLBACK_COMPLETE", "stepwire destroy stepwire"),
        ("DELETE_FAILED", "stepwire destroy stepwire"),
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name stepwire"),
    ],
)
def test_a_stack_that_cannot_be_changed_now_says_what_to_do_first(state: str, words: str) -> None:
    account = FakeAccount()
    account.standing().status = state

    with pytest.raises(AccountError, match=words):
        deployed(account)

    assert account.calls == ["describe_stacks"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "Authorizer=cognito"),
        ({"Authorizer": "iam", "alarms": "all"}, "Did you mean Alarms"),
        ({"Authorizer": "iam", "ArtifactBucket": "x"}, "--bucket NAME"),
        ({"Authorizer": "oidc"}, "Authorizer must be jwt or iam or none"),
        ({"Authorizer": "iam", "Title": "two\nlines"}, "Title must be 1 to 40 characters"),
        ({"Authorizer": "iam", "CallbackUrls": "https://a.example/cb, no url"}, r"CallbackUrls must be as \[a-z\]"),
    ],
)
def test_parameters_are_checked_before_anything_is_made(parameters: dict[str, str], words: str) -> None:
    account = FakeAccount()

    with pytest.raises(CommandError, match=words):
        deployed(account, replace(NEW, parameters=parameters))

    assert set(account.calls) <= {"describe_stacks"}


@pytest.mark.parametrize(
    ("account", "words"),
    [
        (FakeAccount(others_buckets=frozenset({"ours"})), "another account"),
        (FakeAccount(buckets={"ours": {}}, elsewhere={"ours": "us-east-1"}), f"in {REGION} with --bucket"),
    ],
    ids=["account", "Region"],
)
def test_a_bucket_of_another_account_or_region_is_not_used(account: FakeAccount, words: str) -> None:
    with pytest.raises(AccountError, match=words):
        deployed(account, replace(NEW, bucket="ours"))

    assert "put_object" not in account.calls


@pytest.mark.parametrize("is_planted_with_checksum", [True, False])
def test_an_object_in_the_bucket_is_believed_by_its_checksum_alone(is_planted_with_checksum: bool) -> None:
    """Who may write to the bucket knows the names of the next release."""
    account = FakeAccount(refused_change="Not now.")
    with pytest.raises(AccountError):  # after the upload
        deployed(account)
    account.refused_change = ""
    account.buckets[BUCKET]["stepwire/Api-1.zip"] = b"not the code"
    if not is_planted_with_checksum:
        account.without_checksum.add("stepwire/Api-1.zip")
    account.calls.clear()

    deployed(account)
    uploads = account.calls.count("put_object")
    deployed(account, upgrade())

    assert account.buckets[BUCKET]["stepwire/Api-1.zip"] == b"1"
    assert (uploads, account.calls.count("put_object")) == (1, 1)


class TestTheStatus:
    def test_of_a_stack_that_stands_has_its_url(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()
        deployed(account)
        capsys.readouterr()

        code = status("stepwire", calls_of(account), Screen(as_json=False), lambda _seconds: None, watches=False)

        out = capsys.readouterr().out
        assert code == Exit.DONE
        assert "version    1.2.0" in out
        assert URL in out

    def test_of_a_change_follows_it_to_its_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount()
        stack = account.standing()
        account.begin(stack, "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE")

        code = status("stepwire", calls_of(account), Screen(as_json=False), lambda _seconds: None, watches=True)

        assert code == Exit.DONE
        assert URL in capsys.readouterr().out

    def test_of_a_creation_that_failed_names_the_cause(self, capsys: pytest.CaptureFixture[str]) -> None:
        account = FakeAccount(failures=[("Api", "Too many.")])
        deployed(account)
        capsys.readouterr()

        code = status("stepwire", calls_of(account), Screen(as_json=False), lambda _seconds: None, watches=False)

        assert code == Exit.FAILED
        assert "failed     Api (AWS::Some::Thing): Too many." in capsys.readouterr().out


def test_what_outlives_a_stack_is_named_and_can_be_deleted_later(capsys: pytest.CaptureFixture[str]) -> None:
    account = FakeAccount()
    deployed(account)

    destroy(REMOVAL, calls_of(account), Screen(as_json=False))
    left = capsys.readouterr().out
    code = destroy(replace(REMOVAL, with_data=True), calls_of(account), Screen(as_json=False))

    assert "left: held-TasksTable (the tasks)" in left
    assert code == Exit.DONE
    assert set(account.deleted) == {"held-TasksTable", "held-LargeResults"}


@pytest.mark.parametrize(
    ("statuses", "is_protected", "changes"),
    [([], True, ["update_table", "delete_table"]), ([], False, ["delete_table"]), (["DELETING"], True, [])],
    ids=["protected", "not protected", "deleted by an earlier run"],
)
def test_a_table_is_deleted_when_it_is_no_longer_changing(
    statuses: list[str], is_protected: bool, changes: list[str]
) -> None:
    account = FakeAccount(protects_tables=is_protected, table_statuses=statuses)
    account.standing(kept={"TasksTable": ("AWS::DynamoDB::Table", "tasks")})

    code = destroy(replace(REMOVAL, with_data=True), calls_of(account), Screen(as_json=False))

    assert code == Exit.DONE
    assert [call for call in account.calls if call in ("update_table", "delete_table")] == changes


def test_an_object_that_cannot_be_deleted_is_named_and_the_rest_can_be_later(
    capsys: pytest.CaptureFixture[str],
) -> None:
    account = FakeAccount(held_objects=True)
    deployed(account)
    options = replace(REMOVAL, with_data=True)

    with pytest.raises(AccountError, match="held-LargeResults: the object a cannot be deleted: AccessDenied"):
        removed(account, options)
    said = capsys.readouterr().err.splitlines()[-1]
    account.held_objects = False
    removed(account, options)

    assert said == "Repeat this command to delete the rest."
    assert set(account.deleted) == {"held-TasksTable", "held-LargeResults"}


def test_a_stack_with_an_imported_table_alone_becomes_an_endpoint() -> None:
    account = FakeAccount()
    stack = account.standing(is_endpoint=False, kept={"TasksTable": ("AWS::DynamoDB::Table", "stepwire-tasks")})
    stack.status, stack.parameters = "IMPORT_COMPLETE", {}

    deployed(account)

    assert stack.status == "UPDATE_COMPLETE"


def test_a_stack_of_something_else_is_neither_changed_nor_deleted() -> None:
    account = FakeAccount()
    stack = account.standing(is_endpoint=False, kept={"Orders": ("AWS::DynamoDB::Table", "orders")})

    for state in ("CREATE_COMPLETE", "UPDATE_ROLLBACK_FAILED"):
        stack.status = state
        with pytest.raises(AccountError, match="something else"):
            deployed(account)
        with pytest.raises(AccountError, match="something else"):
            status("stepwire", calls_of(account), Screen(as_json=False), lambda _seconds: None, watches=False)
    for state in ("CREATE_COMPLETE", "UPDATE_ROLLBACK_FAILED", "ROLLBACK_COMPLETE", "DELETE_COMPLETE"):
        stack.status = state
        with pytest.raises(AccountError, match="something else"):
            destroy(replace(REMOVAL, with_data=True), calls_of(account), Screen(as_json=False))
    assert account.deleted == []
