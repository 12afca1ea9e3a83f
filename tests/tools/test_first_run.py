"""The journal, the removal, interrupts and time limits, on an account that is a fake; no emulator."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from packages.command.tests.fake_cloudformation import ACCOUNT, REGION, FakeAccount
from packages.command.tests.test_deploying import RELEASE, calls_of
from stepwire_cli.screen import Screen
from tools.first_run import cost
from tools.first_run.__main__ import announced, main, offered
from tools.first_run.account import Account, Failed
from tools.first_run.clock import Clock, TooLong
from tools.first_run.journal import Journal, Made
from tools.first_run.removal import Removal, Remover, remove_all
from tools.first_run.running import run, tried
from tools.first_run.table import TRIALS
from tools.first_run.trial import Seen, Trial, Verdict, so

PREFIX: Final = "stepwire-first-run-ab12cd"


@dataclass
class Time:
    """A time that passes only while somebody waits."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list[float])

    def clock(self) -> Clock:
        return Clock(lambda: self.seconds, self.rest)

    def rest(self, seconds: float) -> None:
        self.seconds += seconds
        self.waits.append(seconds)


@pytest.fixture
def fake() -> FakeAccount:
    return FakeAccount()


@pytest.fixture
def account(fake: FakeAccount, tmp_path: Path) -> Account:
    journal = Journal(tmp_path / f"{PREFIX}.jsonl")
    journal.begin(PREFIX, ACCOUNT, REGION)
    screen = Screen(as_json=False)
    return Account(calls_of(fake), ACCOUNT, REGION, PREFIX, RELEASE, journal, Time().clock(), screen)


def trial(name: str, act: Callable[[Account], Seen], most: int = 10) -> Trial:
    return Trial(name, (), "something", "something", act, minutes=1, most=most)


def fine(_account: Account) -> Seen:
    return so(is_so=True, evidence="fine")


def deploys(account: Account) -> Seen:
    account.deploy(account.main, account.calls, Title="Trial")
    return fine(account)


def breaks(_account: Account) -> Seen:
    raise ZeroDivisionError("in the trial")


def is_empty(fake: FakeAccount) -> bool:
    return set(fake.buckets) <= set(fake.deleted) and all(one.status == "DELETE_COMPLETE" for one in fake.stacks)


# ---------------------------------------------------------- The journal


def test_what_is_left_is_what_was_not_removed_the_newest_first(account: Account) -> None:
    for name in ("a", "b", "c", "b"):
        account.journal.will_make("stack", name)
    account.journal.removed(Made("stack", "c"))

    assert account.journal.left() == [Made("stack", "b"), Made("stack", "a")]
    assert account.journal.head == {"prefix": PREFIX, "account": ACCOUNT, "region": REGION}


def test_a_journal_that_was_cut_off_names_all_that_was_made(account: Account) -> None:
    account.journal.will_make("stack", "a")
    with account.journal.path.open("a") as file:
        file.write('{"made": {"kind": "st')

    assert account.journal.left() == [Made("stack", "a")]


@pytest.mark.parametrize("call", range(1, 30))
def test_whatever_call_ends_a_deployment_its_stack_and_bucket_are_in_the_journal(
    fake: FakeAccount, account: Account, call: int
) -> None:
    def end(number: int, is_done: object) -> None:
        if number == call and is_done:
            raise SystemExit

    fake.interrupt = end
    with suppress(SystemExit):
        deploys(account)

    names = {one.name for one in account.journal.left()}
    assert {one.name for one in fake.stacks} | set(fake.buckets) <= names


# ---------------------------------------------------------- The removal


def test_what_cannot_be_removed_stops_nothing_and_has_a_command(account: Account) -> None:
    seen: list[str] = []

    def remove(_removal: Removal, name: str) -> None:
        seen.append(name)
        if name == "b":
            raise RuntimeError("not\nempty")

    for name in ("a", "b", "c"):
        account.journal.will_make("thing", name)
    removal = Removal(account.calls, account.clock, account.screen, lambda _text: None)

    (left,) = remove_all(account.journal, removal, {"thing": Remover(remove, "rm {name} in {region}")})

    assert seen == ["c", "b", "a"]
    assert (left.why, left.command) == ("not empty", f"rm b in {REGION}")
    assert account.journal.left() == [Made("thing", "b")]


def test_an_endpoint_is_removed_with_its_data_and_again_without_a_fault(fake: FakeAccount, account: Account) -> None:
    deploys(account)
    removal = Removal(account.calls, account.clock, account.screen, lambda _text: None)

    first, second = remove_all(account.journal, removal), remove_all(account.journal, removal)

    assert (first, second) == ([], [])
    assert is_empty(fake)
    assert {one.rpartition("-")[2] for one in fake.deleted} >= {"TasksTable", "LargeResults"}


# ---------------------------------------------------------- The run


def test_a_trial_that_fails_stops_none_and_all_is_removed(fake: FakeAccount, account: Account) -> None:
    rows, left = run([trial("deploys", deploys), trial("breaks", breaks), trial("fine", fine)], account, print)

    assert [row.seen and row.seen.verdict for row in rows] == [Verdict.SO, Verdict.NOT_HERE, Verdict.SO]
    assert rows[1].seen is not None
    assert rows[1].seen.evidence == "it could not be tried: ZeroDivisionError: in the trial"
    assert left == []
    assert is_empty(fake)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_removes_all_and_runs_no_other_trial(
    fake: FakeAccount, account: Account, number: signal.Signals
) -> None:
    said: list[str] = []

    def interrupted(account: Account) -> Seen:
        deploys(account)
        os.kill(os.getpid(), number)
        return fine(account)

    def say(text: str) -> None:
        said.append(text)
        if text.startswith("removing endpoint"):
            os.kill(os.getpid(), number)  # a second one, by somebody impatient

    before = signal.getsignal(number)
    rows, left = run([trial("interrupted", interrupted), trial("fine", fine)], account, say)

    assert [row.seen for row in rows] == [None, None]
    assert left == []
    assert is_empty(fake)
    assert f"the removal goes on; if it is killed: python -m tools.first_run --remove {PREFIX}" in said
    assert signal.getsignal(number) == before


def test_a_trial_has_a_time_limit_of_its_own(account: Account) -> None:
    def waits(account: Account) -> Seen:
        account.clock.until(lambda: None, 600, "a thing")
        return fine(account)

    late, next_one = tried(trial("waits", waits, most=3), account), tried(trial("fine", fine), account)

    assert (late.verdict, late.evidence) == (Verdict.NOT_SO, "given up: the time of this trial is over")
    assert next_one.verdict is Verdict.SO


def test_a_wait_ends_when_there_is_something_or_its_time_is_over() -> None:
    time = Time()
    found = iter([None, "", "seen"])

    assert time.clock().until(lambda: next(found), 1, "a thing") == "seen"
    with pytest.raises(TooLong, match="a thing: not within 120 s"):
        time.clock().until(lambda: None, 2, "a thing")
    assert time.seconds == 2 * 2 + 120


def test_a_failed_deployment_is_not_so_and_has_cloudformations_words(fake: FakeAccount, account: Account) -> None:
    fake.failures = [("Api", "User is not authorized to perform: apigateway:POST")]

    seen = tried(trial("deploys", deploys), account)

    assert (seen.verdict, seen.evidence) == (
        Verdict.NOT_SO, "Api: User is not authorized to perform: apigateway:POST"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("failures", "denied"), [([("Api", "not authorized")], frozenset[str]()), ([], frozenset({"execute_change_set"}))]
)
def test_after_a_first_deployment_that_failed_the_other_trials_have_an_endpoint(
    fake: FakeAccount, account: Account, failures: list[tuple[str, str]], denied: frozenset[str]
) -> None:
    fake.failures, fake.denied = failures, denied
    assert tried(trial("deploys", deploys), account).verdict is Verdict.NOT_SO
    fake.failures, fake.denied = [], frozenset()

    assert account.standing().status == "CREATE_COMPLETE"


def test_a_trial_changes_parameters_back_also_when_it_fails(account: Account) -> None:
    account.standing()

    def fails(account: Account) -> Seen:
        with account.changed(Title="Trial") as stack:
            assert stack.parameters["Title"] == "Trial"
            raise Failed("the task")

    account.deploy(account.main, account.calls, Title="Ours")
    seen = tried(trial("fails", fails), account)

    assert seen.evidence == "the task"
    assert account.standing().parameters["Title"] == "Ours"


def test_a_change_that_the_command_refuses_has_its_words(account: Account) -> None:
    with pytest.raises(Failed, match="There is no parameter Colour"):
        account.deploy(account.main, account.calls, Colour="red")


# ---------------------------------------------------------- The command


def test_it_says_first_where_under_which_names_how_long_and_for_how_much(account: Account) -> None:
    hours = sum(one.most for one in TRIALS) / 60

    said = announced(TRIALS, account)

    dollars = sum(cost.parts(RELEASE, hours).values())
    assert f"In the account {ACCOUNT}, Region {REGION}, this makes things whose names begin with {PREFIX}:" in said
    assert f"at most ${dollars:.2f}: two endpoints ${2 * RELEASE.cost.least * hours / 730:.2f}" in said
    assert f"at most {hours:.0f} hours" in said
    assert [one.name for one in TRIALS if f"\n  {one.name}: {one.does}\n" not in said] == []


def test_the_cost_is_a_sum_of_the_projects_figures() -> None:
    one, two = cost.parts(RELEASE, 1), cost.parts(RELEASE, 2)

    assert two["two endpoints"] == pytest.approx(2 * one["two endpoints"])
    assert sum(two.values()) < 1


def test_nothing_is_made_without_a_yes(fake: FakeAccount, account: Account, capsys: pytest.CaptureFixture[str]) -> None:
    account = replace(account, journal=Journal(account.journal.path.with_name("other.jsonl")))

    assert offered([trial("deploys", deploys)], account, lambda: False) == 2

    assert not account.journal.path.exists()
    assert fake.stacks == []
    assert capsys.readouterr().out.endswith("Nothing was made.\n")


def test_after_a_yes_the_table_is_written(account: Account, capsys: pytest.CaptureFixture[str]) -> None:
    assert offered([trial("deploys", deploys)], account, lambda: True) == 0

    assert "| deploys |" in account.journal.path.with_suffix(".md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.endswith("Nothing is left.\n")


@pytest.fixture
def without_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.usefixtures("without_aws")
def test_without_credentials_it_says_how_to_sign_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--region", "eu-west-1", "--folder", str(tmp_path / "new")])

    assert code == 2
    assert capsys.readouterr().err.startswith("error: no credentials for AWS: sign in")
    assert not (tmp_path / "new").exists()


def test_a_run_that_is_not_known_cannot_be_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--remove", PREFIX, "--folder", str(tmp_path)]) == 2

    assert f"there is no journal {tmp_path / PREFIX}.jsonl" in capsys.readouterr().err
