"""`stepwire caller`: what an operator does about one caller."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from stepwire.extras.callers.commands import BLOCKS, LONGEST_REASON, is_reason
from stepwire_cli.account.commanding import OPERATOR, door_of
from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_cli.agreeing import agrees, answered
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.extras.callers.erasing import Erased, Erasure, Remains
from stepwire_cli.extras.callers.holding import Held, blocks_in, view_of, view_rows
from stepwire_cli.extras.callers.policies import Names, Work, policy_of
from stepwire_cli.extras.callers.tasks import CallersTasks, Cancelled
from stepwire_cli.extras.callers.who import Callers, Named, Who
from stepwire_cli.screen import Screen, moment
from stepwire_cli.settings import Settings
from stepwire_cli.token_files import LARGEST_TOKEN, refuse_tokens, sized, token_in

_STANDARD_INPUT: Final = "-"
_BUCKET: Final = "LargeResults"
_SHOWN_EACH: Final = 100  # lines
_TYPED: Final = 8  # digits of a hash
_NOTHING: Final = "Nothing is held of {}: is it the right caller?"


def who_of(
    name: str | None, token: Path | None, subject: str | None, issuer: str | None, claims: Sequence[str] | None
) -> Who:
    """Return a caller as the command line names them.

    Raises:
        CommandError: a token stands among the words or cannot be read, or a claim has no value.
    """
    refuse_tokens((name, subject, *(claims or ())))
    pairs = [one.partition("=") for one in claims or ()]
    if any(not sign for _, sign, _ in pairs):
        raise CommandError("A claim is written NAME=VALUE, as in --claim org_id=acme.")
    text = None if token is None else _read(token)
    return Who(name, text, subject, issuer, {name: value for name, _, value in pairs})


def _read(token: Path) -> str:
    if str(token) != _STANDARD_INPUT:
        return token_in(token, "--jwt")
    try:
        return sized(sys.stdin.read(LARGEST_TOKEN + 1))
    except UnicodeDecodeError:
        raise CommandError("What came by standard input is no token: it is not UTF-8.") from None


@dataclass(frozen=True)
class _Case:
    """What an operator's command about a caller works with."""

    screen: Screen
    endpoint: Endpoint
    named: Named

    def held(self) -> Held:
        """Return what the endpoint's table holds of the caller."""
        return Held(self.endpoint.calls, self.endpoint.table(), self.named.principal)

    def tasks(self) -> CallersTasks:
        """Return the caller's tasks."""
        return CallersTasks(door_of(self.endpoint), self.named.principal, time.sleep)


def _begun(settings: Settings, stack: str, who: Who) -> _Case:
    """Find the caller, and print what must be known of how they were found.

    Raises:
        CommandError: nobody is named, or AWS cannot be asked.
    """
    screen, endpoint = Screen(as_json=settings.as_json), endpoint_of(settings, stack)
    named = Callers(endpoint).named(who)
    for warning in named.warnings:
        screen.say(warning, "warning")
    return _Case(screen, endpoint, named)


def whois(settings: Settings, stack: str, who: Who) -> int:
    """Print by which hash the endpoint knows a caller.

    Raises:
        CommandError: nobody is named, or AWS cannot be asked.
    """
    case = _begun(settings, stack, who)
    screen, named = case.screen, case.named
    if screen.as_json:
        screen.json({"principal": named.principal, "person": named.person or named.principal, "by": named.by})
        return Exit.DONE
    screen.result(named.principal)
    screen.say(f"By {named.by}. The log has it as `principal`, and the table as `pk`.")
    if named.person is not None:
        screen.say(f"As an approver, the same person is {named.person}.")
    return Exit.DONE


def block(settings: Settings, stack: str, who: Who, reason: str | None, *, is_agreed: bool) -> int:
    """Block a caller.

    Raises:
        CommandError: nobody is named, AWS cannot be asked, the reason is none, or nobody agrees.
    """
    if reason is not None and not is_reason(reason := reason.strip()):
        raise CommandError(f"--reason is a line of 1 to {LONGEST_REASON} visible characters.")
    case = _begun(settings, stack, who)
    screen, named = case.screen, case.named
    _check_held(case)
    question = f"Block {named.principal}, by {named.by}? Everything that they ask is refused."
    if not is_agreed and not agrees(screen, question):
        raise CommandError(f"Nobody agreed, so {named.principal} was not blocked: block them with --yes.")
    because = {} if reason is None else {"reason": reason}
    _ordered(case, "block", "blocked", **because)
    if not screen.as_json:
        screen.say(f"What runs for them goes on: stepwire caller cancel-all {named.principal} --stack {stack}")
    return Exit.DONE


def unblock(settings: Settings, stack: str, who: Who) -> int:
    """Let a blocked caller in again.

    Raises:
        CommandError: nobody is named, or AWS cannot be asked.
    """
    case = _begun(settings, stack, who)
    _ordered(case, "unblock", "not blocked any more")
    return Exit.DONE


def _ordered(case: _Case, command: str, done: str, **fields: str) -> None:
    """Give a command about blocks, and say what came of it."""
    answer = door_of(case.endpoint).do(BLOCKS, command, hashes=list(case.named.hashes), **fields)
    if case.screen.as_json:
        case.screen.json(answer)
        return
    whom, seconds = " and ".join(case.named.hashes), answer["holds_within_seconds"]
    if answer.get("were_blocked") == []:
        case.screen.result(f"{whom}: was not blocked.")
    else:
        case.screen.result(f"{whom}: {done}. Every function knows it within {seconds} seconds.")


def blocked(settings: Settings, stack: str) -> int:
    """Print which callers are blocked.

    Raises:
        CommandError: AWS cannot be asked.
    """
    screen, endpoint = Screen(as_json=settings.as_json), endpoint_of(settings, stack)
    found = blocks_in(endpoint.calls, endpoint.table())
    if screen.as_json:
        screen.json([{"principal": one, **to_builtins(how)} for one, how in found.items()])
        return Exit.DONE
    if not found:
        screen.say("Nobody is blocked.")
        return Exit.DONE
    rows = [
        (one, moment(how.since) if how.since else "", how.reason or "", how.operator or "")
        for one, how in found.items()
    ]
    screen.table(("caller", "since", "why", "by"), rows)
    return Exit.DONE


def _check_held(case: _Case) -> None:
    """Warn of a caller of whom nothing is held, perhaps a mistyped one, where these credentials may read the table."""
    with suppress(AccountError):
        if not case.held().has_anything():
            case.screen.say(_NOTHING.format(case.named.principal), "warning")


def cancel_all(settings: Settings, stack: str, who: Who, *, is_agreed: bool) -> int:
    """Cancel what a caller runs, and print what was cancelled and what could not be.

    Raises:
        CommandError: nobody is named, AWS cannot be asked, or nobody agrees.
    """
    case = _begun(settings, stack, who)
    screen, named = case.screen, case.named
    tasks = case.tasks()
    counted = tasks.count()
    running = counted.running
    if not running and not counted.ended:
        _check_held(case)
    if running and not is_agreed and not agrees(screen, f"Cancel {running:,} tasks of {named.principal}?"):
        raise CommandError(f"{running:,} tasks of {named.principal} have not ended: cancel them with --yes.")
    done = cancelled(screen, tasks, running)
    screen.pause()
    if screen.as_json:
        screen.json({"principal": named.principal, **asdict(done)})
    else:
        screen.result(f"{done.cancelled:,} cancelled, {done.ended:,} had ended, {len(done.failed):,} could not be.")
        for one in done.failed:
            screen.result(f"{one['task_id']}  {one['reason']}")
        screen.say("A caller who is not blocked may call again meanwhile: repeat the command to be sure.")
    return Exit.FAILED if done.failed else Exit.DONE


def cancelled(screen: Screen, tasks: CallersTasks, running: int) -> Cancelled:
    """Cancel what runs, with a line that shows how far it is."""

    def watch(done: Cancelled) -> None:
        share = min(100, 100 * (done.cancelled + len(done.failed)) // max(1, running))
        screen.progress("cancelling", f"{share}%: {done.cancelled:,} of {running:,}")

    return tasks.cancel(watch)


def show(settings: Settings, stack: str, who: Who) -> int:
    """Print what a caller has: counts, what runs, subscriptions, and whether it is blocked."""
    case = _begun(settings, stack, who)
    screen = case.screen
    view = view_of(case.held(), datetime.now(UTC))
    if screen.as_json:
        screen.json(to_builtins(view))
    else:
        for line in view_rows(view):
            screen.result(line)
    return Exit.DONE


def export(settings: Settings, stack: str, who: Who) -> int:
    """Print everything that is held of a caller, a line of JSON for each thing."""
    case = _begun(settings, stack, who)
    screen, endpoint, named = case.screen, case.endpoint, case.named
    now, held = datetime.now(UTC), case.held()
    count = 0
    for count, line in enumerate(held.lines(endpoint.physical_id(_BUCKET), now), 1):
        screen.result(json.dumps(line))
        if count % _SHOWN_EACH == 0:
            screen.progress("exporting", f"{count:,} lines")
    query = f'filter principal = "{named.principal}" | sort @timestamp'
    pointer = {"kind": "audit", "principal": named.principal, "logGroups": f"{stack}-*", "logsInsightsQuery": query}
    screen.result(json.dumps(pointer))
    screen.say(f"{count:,} things are held of {named.principal}. The last line says where its audit trail is.")
    return Exit.DONE


def erase(settings: Settings, stack: str, who: Who, *, cancels: bool, is_agreed: bool) -> int:
    """Erase what is held of a caller, after what will remain elsewhere was named.

    Raises:
        CommandError: nobody is named, AWS cannot be asked, something runs, or nobody agrees.
    """
    case = _begun(settings, stack, who)
    screen, endpoint, named = case.screen, case.endpoint, case.named
    erasure = Erasure(case.held(), endpoint.physical_id(_BUCKET), door_of(endpoint))
    running = sum(not task.has_ended for task in erasure.held.tasks())
    if running and not cancels:
        raise CommandError(f"{running:,} tasks of {named.principal} have not ended: add --cancel, or wait for them.")
    remains = _print_remains(screen, erasure)
    if not is_agreed:
        _confirm(screen, named.principal)
    if running:
        cancelled(screen, case.tasks(), running)
    erased = _erased(screen, erasure)
    screen.pause()
    if screen.as_json:
        screen.json({"principal": named.principal, **asdict(erased), "executions": remains.executions})
        return Exit.DONE
    screen.result(f"{named.principal}: {erased.items:,} items and {erased.objects:,} large results are erased.")
    if not erased.items and not erased.objects:
        screen.say(_NOTHING.format(named.principal), "warning")
    for line in remains.rows():
        screen.result(line)
    return Exit.DONE


def policy(settings: Settings, stack: str, work: str) -> int:
    """Print what an operator needs in IAM.

    Raises:
        CommandError: there is no such stack, or AWS cannot be asked.
    """
    screen, endpoint = Screen(as_json=True), endpoint_of(settings, stack)
    calls = endpoint.calls
    _, partition, _, _, account, _ = calls.call("sts", "GetCallerIdentity")["Arn"].split(":", 5)
    names = Names(
        partition,
        calls.region or "*",
        account,
        stack,
        endpoint.table(),
        endpoint.physical_id(_BUCKET),
        endpoint.physical_id(OPERATOR),
        endpoint.parameter("KmsKeyArn"),
    )
    screen.json(policy_of(Work(work), names))
    return Exit.DONE


def _print_remains(screen: Screen, erasure: Erasure) -> Remains:
    """Print each execution whose history remains, before the task that leads to it is erased; return how many."""
    remains = Remains()
    for left in erasure.left():
        for arn in left.executions:
            remains.note(until := left.until.isoformat())
            if screen.as_json:
                screen.json({"execution": arn, "keptUntil": until})
            else:
                screen.result(f"{arn}  until {until[:10]}")
    return remains


def _confirm(screen: Screen, principal: str) -> None:
    start = principal[:_TYPED]
    if not screen.is_interactive:
        raise CommandError(f"Nobody can be asked here: add --yes to erase what is held of {principal}.")
    while (typed := answered(screen, f"This cannot be undone. Type {start} to erase: ")) != start:
        if not typed:
            raise CommandError("Nothing was erased.")
        screen.say("That is not how the hash begins. Enter alone ends without erasing anything.", "bad")


def _erased(screen: Screen, erasure: Erasure) -> Erased:
    done = Erased()
    try:
        for done in erasure.erased():
            screen.progress("erasing", f"{done.items:,} items, {done.objects:,} large results")
    except (AccountError, KeyboardInterrupt):
        screen.say(f"Interrupted: {done.items:,} items are erased. The same command does the rest.", "warning")
        raise
    return done
