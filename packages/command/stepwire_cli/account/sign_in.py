"""`stepwire sign-in set-up STACK`: make a user pool accept the metadata documents of hosts. Idempotent.

What CloudFormation can do is in the template. This does the rest: a policy that names whole documents, no patterns. It
never turns dynamic registration on, and says so where it is on.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.client_documents import NotKnown, Policies, Policy, Pool, pool_of, registers
from stepwire_cli.account.connecting import connected
from stepwire_cli.account.errors import AccountError
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.sign_in.documents import KNOWN, Checked, checked
from stepwire_cli.sign_in.fetching import Reader
from stepwire_cli.sign_in.pinning import pinned_client


@dataclass(frozen=True)
class Wanted:
    """What the command line says."""

    stack: str
    documents: Sequence[str] = ()
    """Documents beside those of known hosts, such as ChatGPT's."""
    is_exact: bool = False
    """Remove the documents that are neither known nor named."""
    is_dry: bool = False


@dataclass(frozen=True)
class Plan:
    """What has to be done to the policy."""

    action: str
    """creates, updates, or has."""
    patterns: tuple[str, ...]


def set_up(settings: Settings, wanted: Wanted) -> int:
    """Make the user pool of a stack ready for hosts without an id.

    Raises:
        CommandError: it cannot be done.
    """
    calls, screen = connected(settings.profile, settings.region), Screen(as_json=settings.as_json)
    with pinned_client() as http:
        return made_ready(wanted, calls, Reader(http, None, time.monotonic), screen)


def made_ready(wanted: Wanted, calls: Calls, reader: Reader, screen: Screen) -> int:
    """Check the documents, then create or update the policy, and say what is left to do.

    Raises:
        AccountError: it cannot be done.
    """
    pool = pool_of(wanted.stack, calls)
    documents = [checked(url, reader) for url in dict.fromkeys((*KNOWN, *wanted.documents))]
    policies = Policies(pool, calls)
    plan = _planned(policies, documents, wanted)
    notes = _notes(pool, plan, calls)
    _show(plan, documents, notes, wanted, screen)
    is_whole = all(one.is_allowed for one in documents) and not any(is_fault for is_fault, _ in notes)
    return Exit.DONE if is_whole else Exit.FAILED


def _planned(policies: Policies, documents: Sequence[Checked], wanted: Wanted) -> Plan:
    """Compare, and unless it is only a rehearsal, carry out."""
    allowed = [one.url for one in documents if one.is_allowed]
    try:
        there = policies.ours()
    except NotKnown as error:
        raise AccountError(f"{error}, or run with a new AWS CLI: {policies.command(allowed)}") from None
    refused = {one.url for one in documents if not one.is_allowed}
    kept = [] if there is None or wanted.is_exact else [one for one in there.patterns if one not in refused]
    patterns = tuple(dict.fromkeys((*allowed, *kept)))
    plan = Plan(_action(there, policies.pool, patterns), patterns)
    if not wanted.is_dry:
        _carry_out(plan, there, policies)
    return plan


def _action(there: Policy | None, pool: Pool, patterns: tuple[str, ...]) -> str:
    if there is None:
        return "creates"
    is_same = set(there.patterns) == set(patterns) and there.client_id == pool.client_id
    return "has" if is_same else "updates"


def _carry_out(plan: Plan, there: Policy | None, policies: Policies) -> None:
    if there is None:
        policies.create(plan.patterns)
    elif plan.action == "updates":
        policies.update(there, plan.patterns)


def _notes(pool: Pool, plan: Plan, calls: Calls) -> list[tuple[bool, str]]:
    """Return what is left to do; True stands before what is wrong."""
    notes = [
        (True, f"the policy has the pattern {one}: whoever can put a file there is a client; --exactly removes it")
        for one in plan.patterns
        if "*" in one
    ]
    if registers(pool, calls):
        notes.append((True, f"{pool.pool_id} lets clients register themselves, which nobody reviews: turn it off"))
    if pool.announces is False:
        notes.append((False, "hosts are not told of it yet: deploy with ClientDocuments=announce"))
    return notes


def _show(
    plan: Plan, documents: Sequence[Checked], notes: Sequence[tuple[bool, str]], wanted: Wanted, screen: Screen
) -> None:
    if screen.as_json:
        screen.json(_as_json(plan, documents, notes, wanted))
        return
    would = "would do: " if wanted.is_dry and plan.action != "has" else ""
    screen.result(f"{would}{wanted.stack}: {plan.action} the policy with {len(plan.patterns)} documents")
    for url in plan.patterns:
        screen.result(f"  {url}")
    for one in documents:
        if one.why:
            screen.say(f"{one.url}: {'' if one.is_allowed else 'left out: '}{one.why}", "yellow")
    for _, note in notes:
        screen.say(note, "yellow")


def _as_json(
    plan: Plan, documents: Sequence[Checked], notes: Sequence[tuple[bool, str]], wanted: Wanted
) -> dict[str, Any]:
    return {
        "stack": wanted.stack,
        "action": plan.action,
        "isDryRun": wanted.is_dry,
        "patterns": list(plan.patterns),
        "documents": [asdict(one) for one in documents],
        "notes": [note for _, note in notes],
    }
