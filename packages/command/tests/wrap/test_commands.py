"""`stepwire wrap` and `stepwire doctor` of an account, without a terminal."""

from pathlib import Path
from typing import Any

import pytest

from packages.command.tests.wrap.account import PASS, Account
from packages.wrap.tests.samples import machine, passed, task
from packages.wrap.tests.shown import Shown
from stepwire.json_text import write
from stepwire.manifests.reading import compile_directory, read_manifest
from stepwire_cli.account.commands import Wrap, doctor, wrap
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.account.machines import Chosen
from stepwire_wrap.definitions.snippets import Tool

DEFINITION = {**machine(A=passed(Parameters={"x.$": "$.id"})), "Comment": "Ships an order that was paid."}
CONFIRMATION = task(
    resource="sns:publish.waitForTaskToken", Parameters={"TopicArn": "mails", "Message": "Please confirm your order."}
)
WHERE = "/stepwire/live/tools/orders"


@pytest.fixture
def account() -> Account:
    account = Account()
    account.add("Orders", DEFINITION)
    for number in range(12):
        account.run("Orders", {"id": "a", "number": number}, seconds=30)
    return account


@pytest.fixture
def screen() -> Shown:
    return Shown()


def options(folder: Path, *names: str, **more: Any) -> Wrap:
    return Wrap(Chosen(names or ("Orders",)), folder / "tools", "live", **more)


def findings_of(account: Account) -> list[str]:
    screen = Shown()
    doctor("live", account.calls, screen)
    return screen.results


def test_a_manifest_is_written_for_its_owner_to_review(account: Account, screen: Shown, tmp_path: Path) -> None:
    assert wrap(options(tmp_path), account.calls, screen) == 0

    assert screen.results == [("orders", "Orders", "2", "2", "12")]
    assert screen.said == [
        f"1 manifest written to {tmp_path}/tools/.",
        f"Next: review it; `stepwire doctor {tmp_path}/tools` says what is left to correct.",
    ]
    assert compile_directory(tmp_path / "tools")
    assert account.parameters == {}
    assert account.count["get_parameters_by_path"] == 0


def test_what_was_reviewed_is_registered_and_never_written_over(
    account: Account, screen: Shown, tmp_path: Path
) -> None:
    wrap(options(tmp_path), account.calls, screen)
    file = tmp_path / "tools" / "orders.yaml"
    file.write_text(file.read_text().replace("Ships an order that was paid.", "Ships it."), encoding="utf-8")

    assert wrap(options(tmp_path, applies=True), account.calls, screen) == 0

    assert "Ships it." in file.read_text()
    assert read_manifest(account.parameters[WHERE]).description == "Ships it."
    assert account.tags[account.machines["Orders"]["stateMachineArn"]] == {
        "stepwire:endpoint": "live",
        "stepwire:tools": "orders",
    }
    assert screen.said[-3:] == [
        f"0 manifests written to {tmp_path}/tools/, 1 there already.",
        "Orders: adds the tag",
        f"orders: writes {WHERE}",
    ]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(account: Account, screen: Shown, tmp_path: Path) -> None:
    assert wrap(options(tmp_path, applies=True, is_dry=True), account.calls, screen) == 0

    assert screen.said[-2:] == ["would do: Orders: adds the tag", f"would do: orders: writes {WHERE}"]
    assert account.parameters == {}


def test_a_dry_run_says_of_what_is_there_already_that_it_is(account: Account, screen: Shown, tmp_path: Path) -> None:
    wrap(options(tmp_path, applies=True), account.calls, screen)
    account.parameters.clear()

    wrap(options(tmp_path, applies=True, is_dry=True), account.calls, screen)

    assert screen.said[-2:] == ["Orders: has the tag", f"would do: orders: writes {WHERE}"]


@pytest.mark.parametrize("agrees", [True, False])
def test_what_is_registered_is_replaced_only_after_a_yes(
    account: Account, screen: Shown, tmp_path: Path, agrees: bool
) -> None:
    account.parameters[WHERE] = old = write(
        {"name": "orders", "description": "Old.", "state_machine": "Orders", "input_schema": {"type": "object"}}
    )
    asked: list[str] = []

    def agree(question: str) -> bool:
        asked.append(question)
        return agrees

    code = wrap(options(tmp_path, applies=True, agree=agree), account.calls, screen)

    assert code == (0 if agrees else 1)
    assert asked == [f"Orders: adds the tag; orders: replaces {WHERE}: go on?"]
    assert screen.errors == ([] if agrees else ["orders: left as it is; --yes replaces it"])
    assert (account.parameters[WHERE] == old) is not agrees


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("name: orders", "name: other", "name: 'other' must be 'orders', as the file is called"),
        ('Orders"\n', 'Elsewhere"\n', "is not arn:aws:states:eu-central-1:123456789012:stateMachine:Orders"),
        ("ttl: P7D", "ttl: soon", "ttl: must be a duration such as PT30S"),
        ("ttl: P7D", f"ttl: P7D  # {'x' * 9000}", "bytes, and a parameter takes 8,192. Fix: shorten it"),
        ("ttl: P7D", "ttl: [", "line "),
    ],
)
def test_a_reviewed_manifest_with_a_fault_is_one_line_and_registers_nothing(
    account: Account, screen: Shown, tmp_path: Path, old: str, new: str, fault: str
) -> None:
    wrap(options(tmp_path), account.calls, screen)
    file = tmp_path / "tools" / "orders.yaml"
    file.write_text(file.read_text().replace(old, new), encoding="utf-8")

    assert wrap(options(tmp_path, applies=True), account.calls, screen) == 1

    (error,) = screen.errors
    assert error.startswith(f"{file}: ")
    assert fault in error
    assert "\n" not in error
    assert account.parameters == {}


def test_one_machine_that_cannot_be_read_spoils_no_other(account: Account, screen: Shown, tmp_path: Path) -> None:
    account.add("Sealed", "ENCRYPTED")

    assert wrap(options(tmp_path, "Sealed", "Orders"), account.calls, screen) == 1

    assert [row[0] for row in screen.results] == ["orders"]
    assert screen.said[0].startswith("Sealed: its definition cannot be read")


def test_machines_of_similar_names_become_tools_of_different_names(
    account: Account, screen: Shown, tmp_path: Path
) -> None:
    account.add("orders", PASS)

    wrap(options(tmp_path, "Orders", "orders"), account.calls, screen)

    assert [row[:2] for row in screen.results] == [("orders", "Orders"), ("orders_2", "orders")]
    assert "No run that succeeded was read, so inferred from the definition alone: orders." in screen.said


def test_what_many_machines_have_in_common_is_one_line(account: Account, screen: Shown, tmp_path: Path) -> None:
    names = [f"Machine{letter}" for letter in "abcdefg"]
    for name in names:
        account.add(name, PASS)

    wrap(options(tmp_path, *names), account.calls, screen)

    (line,) = [one for one in screen.said if "No run" in one]
    assert line.endswith(": Machinea, Machineb, Machinec, Machined, Machinee and 2 more.")


def test_a_machine_that_waits_for_a_person_is_told_with_the_place_of_the_lines(
    account: Account, screen: Shown, tmp_path: Path
) -> None:
    account.add("Confirms", machine(Ask=CONFIRMATION))

    wrap(options(tmp_path, "Confirms", applies=True), account.calls, screen)

    (line,) = [one for one in screen.said if "state Ask waits for a person" in one]
    assert line.startswith("Confirms: state Ask waits for a person (")
    assert line.endswith(
        f"ask the caller instead, who then decides, with the lines at the end of {tmp_path}/tools/confirms.yaml"
    )
    assert "# Ask:\n" in (tmp_path / "tools" / "confirms.yaml").read_text()
    assert "# Ask:\n" not in account.parameters["/stepwire/live/tools/confirms"]


def test_advice_is_no_reason_to_fail(account: Account, screen: Shown) -> None:
    account.add("Confirms", machine(Ask=CONFIRMATION), **{"stepwire:endpoint": "live"})
    account.parameters["/stepwire/live/tools/confirms"] = write(
        {"name": "confirms", "description": "Asks whether an order may be shipped.",
         "state_machine": "Confirms", "input_schema": {"type": "object"}}
    )  # fmt: skip

    assert doctor("live", account.calls, screen) == 0

    (line,) = screen.results
    assert "state Ask waits for a person" in line
    assert "\n    Ask:\n" in line


def test_a_machine_that_is_a_tool_already_keeps_its_tools_name(account: Account, screen: Shown, tmp_path: Path) -> None:
    wrap(options(tmp_path, applies=True), account.calls, screen)
    account.parameters["/stepwire/live/tools/ship"] = account.parameters.pop(WHERE).replace(
        "name: orders", "name: ship"
    )

    wrap(options(tmp_path / "again", applies=True), account.calls, screen)

    assert list(account.parameters) == ["/stepwire/live/tools/ship"]


def test_an_express_machine_becomes_a_plain_tool(account: Account, screen: Shown, tmp_path: Path) -> None:
    account.add("Fast", DEFINITION, kind="EXPRESS")

    wrap(options(tmp_path, "Fast", applies=True), account.calls, screen)

    manifest = read_manifest(account.parameters["/stepwire/live/tools/fast"])
    assert manifest.task_support.value == "forbidden"
    assert "Of type EXPRESS, so plain tools without tasks, inferred from the definition alone: Fast." in screen.said
    assert not any("task" in line for line in findings_of(account))


def test_a_snippet_and_json_are_results(account: Account, tmp_path: Path) -> None:
    snippets, json = Shown(), Shown(as_json=True)

    wrap(options(tmp_path, snippet=Tool.TERRAFORM), account.calls, snippets)
    wrap(options(tmp_path), account.calls, json)

    assert snippets.results[0].startswith('resource "aws_sfn_state_machine" "orders"')
    ((found,),) = json.results
    assert (found["tool"], found["runs"], found["problems"]) == ("orders", 12, [])
    assert found["manifest"]["input_schema"]["required"] == ["id", "number"]


def test_a_missing_machine_writes_nothing(account: Account, screen: Shown, tmp_path: Path) -> None:
    with pytest.raises(NotThere):
        wrap(options(tmp_path, "Orders", "Gone"), account.calls, screen)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("operation", ["get_parameters_by_path", "get_resources"])
def test_a_registry_that_may_not_be_read_is_one_line(
    account: Account, screen: Shown, tmp_path: Path, operation: str
) -> None:
    account.faults[operation] = ["AccessDeniedException"]

    with pytest.raises(AccountError, match="these credentials may not"):
        wrap(options(tmp_path, applies=True), account.calls, screen)

    assert account.parameters == {}


def test_a_tool_that_may_not_be_registered_is_one_line_and_the_others_are(
    account: Account, screen: Shown, tmp_path: Path
) -> None:
    account.add("Second", DEFINITION)
    account.faults["put_parameter"] = ["AccessDeniedException", "none"]

    assert wrap(options(tmp_path, "Orders", "Second", applies=True), account.calls, screen) == 1

    assert screen.errors == [f"orders: {WHERE}: these credentials may not ssm:PutParameter: add the permission"]
    assert list(account.parameters) == ["/stepwire/live/tools/second"]


def test_whoever_watches_hears_of_each_machine(account: Account, screen: Shown, tmp_path: Path) -> None:
    account.add("Second", DEFINITION)
    heard: list[tuple[int, str]] = []

    def watch(number: int, name: str) -> None:
        heard.append((number, name))

    wrap(options(tmp_path, "Orders", "Second", watch=watch), account.calls, screen)

    assert sorted(heard) == [(2, "Orders"), (2, "Second")]


def test_the_doctor_says_one_line_a_finding_and_ends_with_one_for_errors(account: Account, screen: Shown) -> None:
    json = Shown(as_json=True)
    account.parameters[WHERE] = "name: orders"

    assert doctor("live", account.calls, screen) == 1
    assert doctor("live", account.calls, json) == 1

    assert len(screen.results) == 3
    assert all(line.startswith(f"{WHERE}: ") for line in screen.results)
    assert {tuple(one) for one in json.results[0]} == {("severity", "where", "what", "fix", "lines")}
    assert screen.said == ["1 tool, 3 findings."]


def test_a_healthy_account_has_nothing_to_mend(account: Account, screen: Shown, tmp_path: Path) -> None:
    wrap(options(tmp_path, applies=True), account.calls, Shown())
    file = tmp_path / "tools" / "orders.yaml"
    text = (
        file.read_text()
        .replace("{type: string}", "{type: string, description: The order.}")
        .replace("{type: number}", "{type: number, description: A number.}")
    )
    account.parameters[WHERE] = text

    assert doctor("live", account.calls, screen) == 0
    assert (screen.results, screen.said) == ([], ["1 tool, 0 findings."])
