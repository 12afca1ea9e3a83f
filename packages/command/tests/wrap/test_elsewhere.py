"""`stepwire wrap` for versions and aliases, and for state machines of other accounts and Regions by a role there."""

from pathlib import Path
from typing import Any

import pytest

from packages.command.tests.wrap.account import PREFIX, Account
from packages.wrap.tests.samples import in_jsonata, machine, passed, task
from packages.wrap.tests.shown import Shown
from stepwire.json_text import JsonObject
from stepwire.manifests.reading import read_manifest
from stepwire_cli.account.commands import Wrap, wrap
from stepwire_cli.account.errors import NothingChosen
from stepwire_cli.account.machines import Chosen
from stepwire_wrap.definitions.snippets import Tool

NOW = {**machine(A=passed(Parameters={"x.$": "$.id"})), "Comment": "Ships an order that was paid."}
NEXT = {**machine(A=passed(Parameters={"x.$": "$.number"})), "Comment": "Ships an order by its number."}
ARN = f"{PREFIX}Orders"
ROLE = "arn:aws:iam::222222222222:role/stepwire"
THERE = "arn:aws:states:us-east-1:222222222222:stateMachine:Orders"
NEAR = THERE.replace("us-east-1", "eu-central-1")
WHERE = "/stepwire/live/tools/orders"


@pytest.fixture
def account() -> Account:
    """An account with two versions of a state machine, and an alias."""
    account = Account()
    account.add("Orders", NEXT)
    account.publish("Orders", "1", NOW)
    account.publish("Orders", "2", NEXT)
    account.aliases["Orders:live"] = [("1", 100)]
    for _ in range(12):
        account.run("Orders", {"id": "a"}, seconds=30)
    return account


@pytest.fixture
def other(account: Account) -> Account:
    """An account of another team, which a role reaches."""
    other = Account()
    other.add("Orders", NOW)
    account.others["us-east-1", ROLE] = other
    account.settings["WorkflowRoleArns"] = f"arn:aws:iam::333333333333:role/x,{ROLE}"
    return other


@pytest.fixture
def screen() -> Shown:
    return Shown()


def options(folder: Path, *names: str, **more: Any) -> Wrap:
    return Wrap(Chosen(names), folder / "tools", "live", **more)


@pytest.mark.parametrize("name", [f"{ARN}:live", "Orders:live", f"{ARN}:1", "Orders:1"])
def test_what_an_alias_or_a_version_serves_is_inferred_and_registered(
    account: Account, screen: Shown, tmp_path: Path, name: str
) -> None:
    assert wrap(options(tmp_path, name, applies=True), account.calls, screen) == 0

    manifest = read_manifest(account.parameters[WHERE])
    assert manifest.state_machine == f"{ARN}:{name.rpartition(':')[2]}"
    assert "id" in manifest.input_schema["properties"], "of version 1, not of what the machine is now"
    tags = {"stepwire:endpoint": "live", "stepwire:tools": "orders"}
    assert account.tags[ARN] == tags, "versions and aliases have no tags"
    assert f"Orders: {name.rpartition(':')[2]} has no run yet: those of all versions were read" in screen.said


def test_the_runs_of_an_alias_are_those_that_it_started(account: Account, screen: Shown, tmp_path: Path) -> None:
    account.runs["Orders:live"] = account.runs["Orders"][:3]

    wrap(options(tmp_path, "Orders:live"), account.calls, screen)

    assert screen.results == [("orders", "Orders", "1", "1", "3")]


def test_an_alias_between_two_versions_says_which_was_read(account: Account, screen: Shown, tmp_path: Path) -> None:
    account.aliases["Orders:live"] = [("1", 10), ("2", 90)]

    wrap(options(tmp_path, "Orders:live"), account.calls, screen)

    assert "Orders: live serves versions 2 (90 %) and 1 (10 %): 2 was read" in screen.said


def test_an_alias_that_may_not_be_read_says_what_was(account: Account, screen: Shown, tmp_path: Path) -> None:
    account.faults["describe_state_machine_alias"] = ["AccessDeniedException"]

    assert wrap(options(tmp_path, "Orders:live"), account.calls, screen) == 0

    (said,) = [line for line in screen.said if "states:DescribeStateMachineAlias" in line]
    assert said.endswith("what the state machine is now was read, not what live serves")


@pytest.mark.parametrize("name", [f"{ARN}:gone", "Orders:7"])
def test_a_qualifier_that_is_not_there_is_one_line(account: Account, screen: Shown, tmp_path: Path, name: str) -> None:
    assert wrap(options(tmp_path, name), account.calls, screen) == 1

    assert screen.said[0] == f"{ARN}:{name.rpartition(':')[2]}: there is none in this account and Region"


@pytest.mark.parametrize(
    ("tool", "reference"),
    [
        (Tool.SAM, "${Orders}:live"),
        (Tool.CDK, "${machine.stateMachineArn}:live"),
        (Tool.TERRAFORM, "${aws_sfn_state_machine.orders.arn}:live"),
        (Tool.SERVERLESS, "${Orders}:live"),
    ],
)
def test_a_snippet_refers_to_the_machine_and_keeps_the_alias(
    account: Account, screen: Shown, tmp_path: Path, tool: Tool, reference: str
) -> None:
    wrap(options(tmp_path, "Orders:live", snippet=tool), account.calls, screen)

    assert reference in screen.results[0]
    assert ARN not in screen.results[0]


@pytest.mark.parametrize("allowed", [ROLE, "arn:aws:iam::222222222222:role/step*"])
def test_a_machine_elsewhere_is_read_under_the_role_and_registered_here(
    account: Account, other: Account, screen: Shown, tmp_path: Path, allowed: str
) -> None:
    account.settings["WorkflowRoleArns"] = f"arn:aws:iam::333333333333:role/x, {allowed}"
    other.tags[f"{PREFIX}Orders"] = {"stepwire:endpoint": "live"}
    other.tags[THERE] = {"stepwire:endpoint": "live"}

    assert wrap(options(tmp_path, THERE, role=ROLE, applies=True), account.calls, screen) == 0

    manifest = read_manifest(account.parameters[WHERE])
    assert (manifest.state_machine, manifest.role) == (THERE, ROLE)
    assert "id" in manifest.input_schema["properties"]
    assert other.parameters == {}
    assert other.count["tag_resource"] == account.count["tag_resource"] == account.count["describe_state_machine"] == 0


def test_what_others_must_do_by_hand_is_said_and_nothing_is_registered(
    account: Account, other: Account, screen: Shown, tmp_path: Path
) -> None:
    account.settings.clear()

    assert wrap(options(tmp_path, THERE, role=ROLE, applies=True), account.calls, screen) == 1

    assert screen.errors == [
        "orders: first, by hand: the owner of Orders consents, with credentials of its account: aws stepfunctions "
        f"tag-resource --resource-arn {THERE} --tags key=stepwire:endpoint,value=live --region us-east-1",
        f"orders: first, by hand: add {ROLE} to WorkflowRoleArns of the stack live, and deploy it",
    ]
    assert account.parameters == {}
    assert other.count["tag_resource"] == 0, "consent is its owner's"


def test_what_may_not_be_checked_elsewhere_is_said(
    account: Account, other: Account, screen: Shown, tmp_path: Path
) -> None:
    other.faults["list_tags_for_resource"] = ["AccessDeniedException"]
    account.faults["describe_stacks"] = ["AccessDeniedException"]

    assert wrap(options(tmp_path, THERE, role=ROLE, applies=True, is_dry=True), account.calls, screen) == 1

    tags, roles = screen.errors
    assert tags.startswith("orders: first, by hand: let the role read the tags (")
    assert roles.startswith(f"orders: first, by hand: make sure that WorkflowRoleArns of the stack live has {ROLE} (")


def test_a_role_that_may_not_be_assumed_is_one_line(account: Account, screen: Shown, tmp_path: Path) -> None:
    assert wrap(options(tmp_path, THERE, role=ROLE), account.calls, screen) == 1

    assert screen.said[0] == f"{ROLE} may not be assumed"


def test_an_express_machine_elsewhere_cannot_be_a_tool(
    account: Account, other: Account, screen: Shown, tmp_path: Path
) -> None:
    other.add("Orders", NOW, kind="EXPRESS")

    assert wrap(options(tmp_path, THERE, role=ROLE), account.calls, screen) == 1

    assert screen.said[0] == "Orders: of type EXPRESS: a tool of another account or Region must be of type STANDARD"
    assert list(tmp_path.iterdir()) == []


def test_a_question_elsewhere_is_told_to_fail(account: Account, other: Account, screen: Shown, tmp_path: Path) -> None:
    asked: JsonObject = {"elicitation": {"message": "Go on?", "requestedSchema": {"type": "object"}}}
    other.add("Orders", in_jsonata(Ask=task(resource="lambda:invoke.waitForTaskToken", Arguments={"Payload": asked})))

    wrap(options(tmp_path, THERE, role=ROLE), account.calls, screen)

    assert "Orders: Ask asks its caller, which fails with ForeignQuestion in another account or Region" in screen.said


@pytest.mark.parametrize("chosen", [Chosen(["Orders"]), Chosen(tag=("a", "b")), Chosen([THERE], stack="x")])
def test_a_role_goes_with_arns_alone(account: Account, screen: Shown, tmp_path: Path, chosen: Chosen) -> None:
    with pytest.raises(NothingChosen, match="with --role, name state machines by their ARNs"):
        wrap(Wrap(chosen, tmp_path, "live", role=ROLE), account.calls, screen)


@pytest.mark.parametrize(
    ("arn", "words"),
    [
        (THERE, f"{THERE} is in us-east-1, and you ask eu-central-1: add --role ROLE_ARN"),
        (
            THERE.replace("us-east-1", "eu-central-1"),
            "is of account 222222222222, and you ask 123456789012: add --role",
        ),
        (f"{PREFIX}Gone", f"{PREFIX}Gone: there is none in this account and Region"),
    ],
)
def test_a_machine_elsewhere_without_a_role_says_so(
    account: Account, other: Account, screen: Shown, tmp_path: Path, arn: str, words: str
) -> None:
    assert wrap(options(tmp_path, arn), account.calls, screen) == 1

    assert words in screen.said[0]


def test_a_reviewed_manifest_of_another_role_is_not_registered(
    account: Account, other: Account, screen: Shown, tmp_path: Path
) -> None:
    wrap(options(tmp_path, THERE, role=ROLE), account.calls, screen)
    file = tmp_path / "tools" / "orders.yaml"
    file.write_text(file.read_text().replace(ROLE, f"{ROLE}2"), encoding="utf-8")

    assert wrap(options(tmp_path, THERE, role=ROLE, applies=True), account.calls, screen) == 1

    assert screen.errors == [f"{file}: role: {ROLE}2 is not {ROLE}, as --role says"]


@pytest.mark.parametrize("tool", list(Tool))
def test_a_snippet_for_a_machine_elsewhere_registers_the_tool_alone(
    account: Account, other: Account, screen: Shown, tmp_path: Path, tool: Tool
) -> None:
    wrap(options(tmp_path, THERE, role=ROLE, snippet=tool), account.calls, screen)

    text = screen.results[0]
    assert f"Its owner tags {THERE}" in text
    assert text.count(THERE) == 2, "in the words to its owner, and in the manifest"
    assert ROLE in text
    assert (WHERE if tool is not Tool.SAM else "!Sub /stepwire/${Endpoint}/tools/orders") in text
    assert "yours, as it is" not in text
    assert "machine.stateMachineArn" not in text
