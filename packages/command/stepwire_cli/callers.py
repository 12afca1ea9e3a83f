"""`stepwire caller`: what an operator does about one caller."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from stepwire_cli.account.callers import LARGEST_TOKEN, Callers, Named, Who
from stepwire_cli.account.callers_tasks import CallersTasks, Cancelled
from stepwire_cli.account.commanding import BLOCKS, TASKS, obeyed
from stepwire_cli.account.connecting import connected
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.agreeing import agrees
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_STANDARD_INPUT: Final = "-"


def who_of(
    name: str | None, token: Path | None, subject: str | None, issuer: str | None, claims: Sequence[str] | None
) -> Who:
    """Return a caller as the command line names them.

    Raises:
        CommandError: the token cannot be read, or a claim has no value.
    """
    pairs = [one.partition("=") for one in claims or ()]
    if any(not sign for _, sign, _ in pairs):
        raise CommandError("A claim is written NAME=VALUE, as in --claim org_id=acme.")
    text = None if token is None else _read(token)
    return Who(name, text, subject, issuer, {name: value for name, _, value in pairs})


def _read(token: Path) -> str:
    try:
        if str(token) == _STANDARD_INPUT:
            text = sys.stdin.read(LARGEST_TOKEN + 1)
        else:
            with token.open(encoding="utf-8") as file:
                text = file.read(LARGEST_TOKEN + 1)
    except (OSError, UnicodeDecodeError):
        raise CommandError(f"The token cannot be read from {token}.") from None
    if len(text) > LARGEST_TOKEN:
        raise CommandError(f"What is in {token} has more than {LARGEST_TOKEN:,} characters, so it is no token.")
    return text


def whois(settings: Settings, stack: str, who: Who) -> int:
    """Print by which hash the endpoint knows a caller.

    Raises:
        CommandError: nobody is named, or AWS cannot be asked.
    """
    screen = Screen(as_json=settings.as_json)
    calls = connected(settings.profile, settings.region)
    named = _named(Callers(calls, Endpoint(calls, stack)), who, screen)
    if screen.as_json:
        screen.json({"principal": named.principal, "person": named.person or named.principal, "by": named.by})
        return Exit.DONE
    screen.result(named.principal)
    screen.say(f"By {named.by}. The log has it as `principal`, and the table as `pk`.")
    if named.person is not None:
        screen.say(f"As an approver, the same person is {named.person}.")
    return Exit.DONE


def block(settings: Settings, stack: str, who: Who, action: str) -> int:
    """Block or unblock a caller.

    Args:
        settings: the options of every command.
        stack: name of the endpoint's stack.
        who: the caller.
        action: `block` or `unblock`.

    Raises:
        CommandError: nobody is named, or AWS cannot be asked.
    """
    screen = Screen(as_json=settings.as_json)
    calls = connected(settings.profile, settings.region)
    endpoint = Endpoint(calls, stack)
    named = _named(Callers(calls, endpoint), who, screen)
    answer = obeyed(calls, endpoint.physical_id(BLOCKS), {action: list(named.hashes)})
    if screen.as_json:
        screen.json(answer)
        return Exit.DONE
    done = "blocked" if answer["blocked"] else "not blocked any more"
    seconds = answer["holds_within_seconds"]
    screen.result(f"{' and '.join(named.hashes)}: {done}. Every function knows it within {seconds} seconds.")
    if answer["blocked"]:
        screen.say(f"What runs for them goes on: stepwire caller cancel-all {named.principal} --stack {stack}")
    return Exit.DONE


def cancel_all(settings: Settings, stack: str, who: Who, *, is_agreed: bool) -> int:
    """Cancel what a caller runs, and print what was cancelled and what could not be.

    Raises:
        CommandError: nobody is named, AWS cannot be asked, or nobody agrees.
    """
    screen = Screen(as_json=settings.as_json)
    calls = connected(settings.profile, settings.region)
    endpoint = Endpoint(calls, stack)
    named = _named(Callers(calls, endpoint), who, screen)
    tasks = CallersTasks(calls, endpoint.physical_id(TASKS), named.principal, time.sleep)
    running = tasks.count().running
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


def _named(callers: Callers, who: Who, screen: Screen) -> Named:
    """Return the caller, and print what must be known of how they were found."""
    named = callers.named(who)
    for warning in named.warnings:
        screen.say(warning, "warning")
    return named
