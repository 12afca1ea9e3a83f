"""Registering: a tag and a parameter, once, and nothing replaced without a yes."""

from dataclasses import replace

import pytest

from packages.command.tests.wrap.account import PASS, PREFIX, Account, applied
from stepwire.json_text import write
from stepwire.manifests.reading import read_manifest
from stepwire_cli.account.errors import AccountError, NotAllowed
from stepwire_cli.account.registering import Other, Plan, Registry, names_in_use, registration_of
from stepwire_wrap.definitions.drafts import Draft, History, draft

NAME = "/stepwire/live/tools/orders"
TAGS = {"stepwire:endpoint": "live", "stepwire:tools": "orders"}


@pytest.fixture
def account() -> Account:
    account = Account()
    account.add("Orders")
    return account


def drafted(account: Account) -> Draft:
    return draft("orders", account.reader().describe(f"{PREFIX}Orders"), History())


def plan_of(account: Account) -> Plan:
    (plan,) = Registry(account.calls, "live").plans([registration_of(drafted(account))])
    return plan


def no(_plan: Plan) -> bool:
    return False


def test_a_tool_is_tagged_and_registered(account: Account) -> None:
    plan = plan_of(account)

    applied([plan], Registry(account.calls, "live"), no)

    assert plan.lines() == ["Orders: adds the tag", f"orders: writes {NAME}"]
    assert account.tags[f"{PREFIX}Orders"] == TAGS
    assert read_manifest(account.parameters[NAME]).state_machine == f"{PREFIX}Orders"


def test_every_state_machine_of_a_race_is_tagged(account: Account) -> None:
    account.add("Express", PASS, **{"stepwire:endpoint": "other"})
    manifest = {
        **drafted(account).manifest,
        "race": {"arms": [{"name": "a"}, {"name": "b", "state_machine": f"{PREFIX}Express"}]},
    }
    wanted = registration_of(drafted(account), write(manifest), (Other(f"{PREFIX}Express"),))
    registry = Registry(account.calls, "live")
    (plan,) = registry.plans([wanted])

    assert plan.lines()[:2] == ["Orders: adds the tag", "Express: takes the tag from other"]
    assert plan.replaces
    applied([plan], registry, lambda _plan: True)
    assert account.tags[f"{PREFIX}Express"] == account.tags[f"{PREFIX}Orders"] == TAGS
    assert names_in_use(registry.registered()) == {f"{PREFIX}Orders": "orders", f"{PREFIX}Express": "orders"}


@pytest.mark.parametrize(
    ("tags", "line", "written"),
    [
        ({"stepwire:endpoint": "live"}, "has the tag", None),
        ({"stepwire:endpoint": "live", "stepwire:tools": "pay orders"}, "has the tag", "pay orders"),
        ({"stepwire:endpoint": "live", "stepwire:tools": "pay"},
         "has the tag, and lets this tool start it beside pay", "pay orders"),
        ({"stepwire:endpoint": "other", "stepwire:tools": "pay"},
         "takes the tag from other, and lets this tool start it beside pay", "pay orders"),
        ({"stepwire:tools": "pay"}, "adds the tag", "pay orders"),
    ],
)  # fmt: skip
def test_a_tag_that_names_tools_is_kept_and_extended_and_an_endpoint_that_any_tool_may_use_stays_so(
    tags: dict[str, str], line: str, written: str | None
) -> None:
    account = Account()
    account.add("Orders", **tags)
    plan = plan_of(account)

    assert plan.lines()[0] == f"Orders: {line}"
    assert plan.replaces == ("takes" in line or "beside" in line)
    applied([plan], Registry(account.calls, "live"), lambda _plan: True)

    found = account.tags[f"{PREFIX}Orders"]
    assert (found["stepwire:endpoint"], found.get("stepwire:tools")) == ("live", written)


def test_two_tools_of_one_state_machine_may_both_start_it(account: Account) -> None:
    first = registration_of(drafted(account))
    registry = Registry(account.calls, "live")

    applied(registry.plans([first, replace(first, tool="more")]), registry, no)

    assert account.tags[f"{PREFIX}Orders"] == {"stepwire:endpoint": "live", "stepwire:tools": "orders more"}


def test_no_second_tool_may_start_a_state_machine_without_a_yes(account: Account) -> None:
    account.tags[f"{PREFIX}Orders"] = {"stepwire:endpoint": "live", "stepwire:tools": "pay"}

    assert applied([plan_of(account)], Registry(account.calls, "live"), no) == []
    assert account.tags[f"{PREFIX}Orders"]["stepwire:tools"] == "pay"
    assert account.parameters == {}


def test_planning_writes_nothing(account: Account) -> None:
    plan_of(account)

    assert account.count.keys() == {"describe_state_machine", "get_parameters_by_path", "get_resources"}


def test_doing_it_again_writes_nothing(account: Account) -> None:
    applied([plan_of(account)], Registry(account.calls, "live"), no)
    account.count.clear()

    plan = plan_of(account)
    done = applied([plan], Registry(account.calls, "live"), no)

    assert done == [plan]
    assert plan.dry_lines() == ["Orders: has the tag", f"orders: is as it should be: {NAME}"]
    assert account.count["put_parameter"] == account.count["tag_resource"] == 0


@pytest.mark.parametrize("agrees", [True, False])
def test_a_parameter_that_differs_is_replaced_only_after_a_yes(account: Account, agrees: bool) -> None:
    account.parameters[NAME] = "name: orders"

    done = applied([plan_of(account)], Registry(account.calls, "live"), lambda _plan: agrees)

    assert len(done) == agrees
    assert (account.parameters[NAME] == "name: orders") is not agrees


def test_a_tag_of_another_endpoint_is_replaced_only_after_a_yes(account: Account) -> None:
    account.tags[f"{PREFIX}Orders"]["stepwire:endpoint"] = "other"

    plan = plan_of(account)

    assert plan.lines()[0] == "Orders: takes the tag from other"
    assert applied([plan], Registry(account.calls, "live"), no) == []
    assert account.tags[f"{PREFIX}Orders"] == {"stepwire:endpoint": "other"}


def test_a_tag_that_the_list_does_not_have_yet_is_not_taken_from_its_endpoint(account: Account) -> None:
    plan = plan_of(account)
    account.tags[f"{PREFIX}Orders"]["stepwire:endpoint"] = "other"

    with pytest.raises(AccountError, match="names the endpoint other by now: repeat the command, which asks first"):
        applied([plan], Registry(account.calls, "live"), no)

    assert account.tags[f"{PREFIX}Orders"] == {"stepwire:endpoint": "other"}
    assert account.parameters == {}


def test_no_parameter_is_written_where_the_tag_is_refused(account: Account) -> None:
    account.faults["tag_resource"] = ["AccessDeniedException"]

    with pytest.raises(NotAllowed, match="may not states:TagResource"):
        applied([plan_of(account)], Registry(account.calls, "live"), no)

    assert account.parameters == {}


def test_the_names_of_tools_that_serve_already_are_known(account: Account) -> None:
    account.parameters[NAME] = drafted(account).text
    account.parameters["/stepwire/live/tools/broken"] = "a: [b"
    account.parameters["/stepwire/other/tools/x"] = drafted(account).text

    registered = Registry(account.calls, "live").registered()

    assert [one.tool for one in registered] == ["orders", "broken"]
    assert names_in_use(registered) == {f"{PREFIX}Orders": "orders"}
