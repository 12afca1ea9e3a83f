"""`stepwire deploy`, `upgrade` and `status`: what they do once their options are read.

The rule: each step may be the last. What was done stays, the same command does the rest, and nobody has to clean up
first: uploads are named after their content, a change set that nobody ran changes nothing, and CloudFormation goes on
by itself.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.deployment import change_set
from stepwire_cli.deployment.bucket import PREFIX, Bucket, bucket_in, named
from stepwire_cli.deployment.change_set import ChangeSet
from stepwire_cli.deployment.following import Ending, Event, Follower, Sleep, last_failures
from stepwire_cli.deployment.in_use import Contents, Use, in_use, uses_of
from stepwire_cli.deployment.inventory import created_by
from stepwire_cli.deployment.parameters import OF_THE_COMMAND
from stepwire_cli.deployment.parts import NOTHING
from stepwire_cli.deployment.plan import AUTHORIZER, Plan, compared
from stepwire_cli.deployment.release import Release
from stepwire_cli.deployment.stack import (
    ENDPOINT,
    NAME,
    NAMES,
    SUCCEEDED,
    Readiness,
    Stack,
    check_free,
    check_ours,
    described,
    resources_of,
)
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen

_WHO_MAY_CALL: Final = (
    "Who may call? Write one of\n"
    "  Authorizer=cognito   people and programs of a user pool, which the stack makes\n"
    "  Authorizer=jwt JwtIssuer=https://... JwtAudience=...   whoever has a token of your issuer\n"
    "  Authorizer=iam       whoever has AWS credentials that allow it\n"
    "  Authorizer=none      everybody who learns the URL: for a trial"
)
_CLIENTS: Final = (
    ("ClaudeCode", "Claude Code"),
    ("VsCode", "VS Code, .vscode/mcp.json"),
    ("Cursor", "Cursor, .cursor/mcp.json"),
)


@dataclass(frozen=True)
class Deployment:
    """The options of `stepwire deploy` and `upgrade`."""

    name: str
    """Of the stack."""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the template, as they were written."""
    bucket: str | None = None
    extras: Sequence[str] | None = None
    """The names of the extras that the stack is to have; None: those that it has, and all in a new one."""
    is_upgrade: bool = False
    """Whether there must be a stack."""
    goes_back: bool = False
    """Whether an older release may take the place of a newer one."""
    is_dry_run: bool = False
    """Whether it is only said what would be done."""
    is_offline: bool = False
    """Whether that is said of a new stack, without reading the account."""
    agree: Callable[[str], bool] = lambda _question: False
    """Asks whether to go on."""
    agree_to_loss: Callable[[str], bool] = lambda _question: False
    """Asks whether to go on although something that goes is in use."""
    uses_of: Callable[[str], Iterable[Use]] = uses_of
    """Returns what an extra may hold."""
    sleep: Sleep = time.sleep


def deploy(options: Deployment, release: Release, calls: Calls, screen: Screen) -> int:
    """Deploy a release, and say how to reach the endpoint.

    Raises:
        CommandError: it cannot be done, with what to do first.
    """
    _check_given(options.parameters, release)
    if options.extras is not None:
        release.with_extras(options.extras)  # refuses another release's before the account is read
    found = Stack(options.name) if options.is_offline else described(calls, options.name)
    stack = _checked(found, release, options)
    release = _chosen(stack, release, options)
    _check_tools(release)
    if options.is_offline:
        plan = _plan(stack, release, _parameters(stack, release, options.parameters))
        return _end_dry_run(plan, "The account was not read: this is a new stack.", screen)
    parameters = _parameters(stack, release, options.parameters)
    storing = _storing(bucket_in(calls, options.bucket), release)
    parameters |= {"ArtifactBucket": storing.bucket.name, "ArtifactPrefix": PREFIX}
    if _is_same(calls, stack, release, parameters):
        screen.say(f"{stack.name} has version {release.version} with these parameters already.")
        _show_outputs(stack, screen)
        return Exit.DONE
    plan = _plan(stack, release, parameters)
    plan = replace(plan, in_use=in_use(Contents(calls, stack, datetime.now(UTC)), plan.goes, options.uses_of))
    if options.is_dry_run:
        there = {} if stack.readiness is Readiness.ABSENT else resources_of(calls, stack)
        return _end_dry_run(compared(plan, there), storing.words, screen)
    if not _may_write(plan, storing, options, screen):
        screen.say("Nothing was made, uploaded or changed.")
        return Exit.FAILED
    storing.store(screen)
    return _changed(plan, parameters, storing, options, calls, screen)


@dataclass(frozen=True)
class _Storing:
    """What of a release is to be stored in a bucket."""

    bucket: Bucket
    template: str
    """Name of the template's file."""
    is_new: bool
    """Whether the bucket is to be made."""
    lacking: Mapping[str, bytes]
    """The files that are to be uploaded."""

    @property
    def words(self) -> str:
        """What would be written before CloudFormation begins; empty: nothing."""
        if not self.lacking:
            return ""
        size = sum(map(len, self.lacking.values())) / 1_000_000
        place = f"a new bucket, {self.bucket.name}" if self.is_new else f"the bucket {self.bucket.name}"
        return f"{len(self.lacking)} files of the release ({size:.1f} MB) go to {place}."

    def store(self, screen: Screen) -> None:
        """Make the bucket and upload the files."""
        if self.is_new:
            self.bucket.create()
            screen.say(f"made the bucket {self.bucket.name} for the files of releases")
        self.bucket.upload(self.lacking, lambda name: screen.progress("uploading", name))


def _storing(bucket: Bucket, release: Release) -> _Storing:
    template = named(release.template.encode(), "template", ".yaml")
    files = {**release.needed, template: release.template.encode()}
    is_there = bucket.is_there()
    return _Storing(bucket, template, not is_there, bucket.lacking(files) if is_there else files)


def _checked(stack: Stack, release: Release, options: Deployment) -> Stack:
    """Return a stack that this release may make or change.

    Raises:
        CommandError: it may not, with what to do first.
    """
    _check_succession(stack, release, options)
    check_free(stack)
    return stack


def _chosen(stack: Stack, release: Release, options: Deployment) -> Release:
    """Return the release with the extras that the stack is to have.

    Raises:
        CommandError: one is not of this release, or a parameter is of another.
    """
    kept = None if stack.readiness is Readiness.ABSENT else stack.extras
    extras = kept if options.extras is None else options.extras
    chosen = release if extras is None else release.with_extras(extras)
    kept_values = {name: value for name, value in stack.parameters.items() if name in chosen.parameters}
    for name, value in {**kept_values, **options.parameters}.items():
        if (lack := chosen.lacks(name, value)) is not None:
            raise CommandError(lack)
    return chosen


def _check_tools(release: Release) -> None:
    """Do nothing if the chosen extras are all that the release's own tools need: else no request would be served.

    Raises:
        CommandError: one is not.
    """
    if release.lacking:
        needing = "; ".join(f"{', '.join(tools)} needs {extra}" for extra, tools in sorted(release.lacking.items()))
        extras = ",".join(sorted({*release.chosen, *release.lacking}))
        raise CommandError(
            f"The release's own tools need extras that are not chosen ({needing}): take the fields out of their "
            f"manifests and make the release again, or write --with {extras}"
        )


def _plan(stack: Stack, release: Release, parameters: Mapping[str, str | None]) -> Plan:
    chosen = {name: value for name, value in {**stack.parameters, **parameters}.items() if value is not None}
    return Plan(stack, release, chosen, created_by(release, chosen))


def _end_dry_run(plan: Plan, words: str, screen: Screen) -> int:
    """Show what a deployment would do, and do nothing."""
    if screen.as_json:
        screen.json({**plan.as_json(), "note": words})
        return Exit.DONE
    plan.show(screen)
    if plan.stack.readiness is not Readiness.ABSENT:
        screen.result("What is changed or replaced, CloudFormation tells when it has the files.")
    if words:
        screen.result(words)
    questions = [plan.question_of_use, plan.question] if plan.in_use else [plan.question]
    screen.result(f"It would ask: {' '.join(questions)}")
    screen.say("Nothing was made, uploaded or changed.")
    return Exit.DONE


def _may_write(plan: Plan, storing: _Storing, options: Deployment, screen: Screen) -> bool:
    """Show what would be written, and ask; a change of a stack that needs no file is asked about when it is known."""
    if plan.stack.readiness is Readiness.ABSENT:
        plan.show(screen)
        if storing.words and not screen.as_json:
            screen.result(storing.words)
        return options.agree(plan.question)
    if plan.going:
        screen.say(plan.going)
    for one in plan.in_use:
        screen.say(one.words, "warning")
    if plan.in_use and not options.agree_to_loss(plan.question_of_use):
        return False
    if not storing.words:
        return True
    screen.say(f"{storing.words} Then CloudFormation computes what would change in {plan.stack.name}.")
    return options.agree("Upload them?")


def _changed(
    plan: Plan,
    parameters: Mapping[str, str | None],
    storing: _Storing,
    options: Deployment,
    calls: Calls,
    screen: Screen,
) -> int:
    """Let CloudFormation compute the change; ask unless it is the new stack that was agreed to; run it."""
    stack = plan.stack
    screen.progress("comparing", "CloudFormation computes what would change")
    made = change_set.make(calls, stack, storing.bucket.url(storing.template), parameters, options.sleep)
    found = replace(plan, changes=made.changes)
    try:
        agreed = stack.readiness is Readiness.ABSENT and found.created == plan.created
        if not agreed:
            found.show(screen)
            agreed = options.agree(found.question)
    except BaseException:
        made.drop(stack)
        raise
    if not agreed:
        made.drop(stack)
        screen.say(f"{stack.name} was not changed. The files of the release stay in the bucket {storing.bucket.name}.")
        return Exit.FAILED
    return _run(made, options, calls, screen)


def status(name: str, calls: Calls, screen: Screen, sleep: Sleep, *, watches: bool) -> int:
    """Say how a stack stands, and what to do about it.

    Raises:
        AccountError: there is no such stack, or AWS cannot be asked.
    """
    stack = described(calls, name)
    if stack.readiness is Readiness.ABSENT:
        raise NotThere(f"there is no stack {name} in this account and Region: `stepwire deploy {name}` makes one")
    check_ours(stack)
    if watches and stack.readiness is Readiness.BUSY:
        return _told(_follower(calls, stack.stack_id, screen, sleep).follow(), screen)
    ringing = _ringing(calls, stack)
    failures = [] if stack.readiness is Readiness.STANDS else last_failures(calls, stack)
    if screen.as_json:
        screen.json(_as_json(stack, ringing, failures))
    else:
        _show_status(stack, ringing, failures, screen)
    is_well = stack.readiness is not Readiness.BROKEN and stack.readiness is not Readiness.STUCK and not ringing
    return Exit.DONE if is_well else Exit.FAILED


def _check_given(given: Mapping[str, str], release: Release) -> None:
    for name, value in given.items():
        if name in OF_THE_COMMAND:
            raise CommandError(f"{name} is set by this command: --bucket NAME chooses the bucket.")
        if name not in release.parameters:
            near = [one for one in release.parameters if one.lower() == name.lower()]
            hint = f" Did you mean {near[0]}?" if near else ""
            raise CommandError(
                f"There is no parameter {name} in version {release.version}.{hint} "
                "`stepwire deploy --parameters` lists those there are."
            )
        if (allowed := _not_allowed(release.parameters[name], value)) is not None:
            raise CommandError(f"{name} must be {allowed}.")  # its value may be for nobody's screen


def _not_allowed(declared: Mapping[str, Any], value: str) -> str | None:
    """Return what a parameter may be if CloudFormation refuses this value, whose numbers and rules are not read."""
    values = [str(one) for one in declared.get("AllowedValues", ())]
    if values and value not in values:
        return " or ".join(values)
    pattern = declared.get("AllowedPattern", ".*")
    items = value.split(",") if declared["Type"] == "CommaDelimitedList" else [value]
    if all(re.fullmatch(pattern, item.strip(), re.DOTALL) for item in items):
        return None
    return str(declared.get("ConstraintDescription", f"as {pattern}"))


def _check_succession(stack: Stack, release: Release, options: Deployment) -> None:
    """Do nothing if this release may take the place of what the stack has."""
    if stack.readiness is Readiness.ABSENT:
        if options.is_upgrade:
            raise NotThere(f"there is no stack {stack.name} to upgrade: `stepwire deploy {stack.name}` makes one")
        if not NAME.fullmatch(stack.name):
            raise CommandError(f"{stack.name!r} is no name of a stack: use {NAMES}.")
        return
    check_ours(stack)
    if stack.version is None:
        return
    if _numbers(stack.version) < min(_numbers(release.oldest), _numbers(release.version)):
        raise AccountError(
            f"{stack.name} has version {stack.version}, which {release.version} cannot follow: upgrade to "
            f"{release.oldest} first"
        )
    if _numbers(stack.version) > _numbers(release.version) and not options.goes_back:
        raise AccountError(
            f"{stack.name} has version {stack.version}, and this is {release.version}: install a newer command "
            "(`uvx stepwire@latest`), or go back on purpose with --back"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _parameters(stack: Stack, release: Release, given: Mapping[str, str]) -> dict[str, str | None]:
    """Return the value of each parameter that is not left to its default; None: as it is.

    Raises:
        CommandError: one that has no default is missing.
    """
    before = () if stack.readiness is Readiness.ABSENT else stack.parameters  # a stack in review has none to keep
    kept = {name: None for name in before if name in release.parameters}
    chosen: dict[str, str | None] = {**kept, **given}
    lacking = [
        name
        for name, body in release.parameters.items()
        if "Default" not in body and name not in chosen and name not in OF_THE_COMMAND
    ]
    if AUTHORIZER in lacking:
        raise CommandError(_WHO_MAY_CALL)
    if lacking:
        raise CommandError(f"These parameters have no default: write {' '.join(f'{name}=...' for name in lacking)}.")
    return chosen


def _is_same(calls: Calls, stack: Stack, release: Release, parameters: Mapping[str, str | None]) -> bool:
    if stack.readiness is not Readiness.STANDS:
        return False
    if any(value is not None and stack.parameters.get(name) != value for name, value in parameters.items()):
        return False
    found = calls.call("cloudformation", "GetTemplate", StackName=stack.name, TemplateStage="Original")
    return found["TemplateBody"] == release.template


def _run(planned: ChangeSet, options: Deployment, calls: Calls, screen: Screen) -> int:
    follower = _follower(calls, planned.stack_id, screen, options.sleep)
    goes_on = f"CloudFormation goes on. Follow it with: stepwire status {options.name} --watch"
    return _told(follower.through(planned.run, lambda: screen.say(goes_on)), screen)


def _follower(calls: Calls, stack_id: str, screen: Screen, sleep: Sleep) -> Follower:
    def show(event: Event) -> None:
        if event.is_failure:
            screen.say(f"{event.name} {event.words}: {event.why}", "bad")
        elif screen.is_interactive or not event.is_beginning:  # a log of two lines for each resource says no more
            screen.progress("deploying", f"{event.name} {event.words}")

    return Follower(calls, stack_id, sleep, show)


def _told(ending: Ending, screen: Screen) -> int:
    """Say how a change ended, and return the exit code."""
    stack = ending.stack
    if stack.status in SUCCEEDED:
        screen.say(f"{stack.name} has version {stack.version or 'of its sources'}.", "good")
        _show_outputs(stack, screen)
        return Exit.DONE
    screen.error(f"{stack.name}: {stack.status}")
    if ending.failures:
        first = ending.failures[0]
        screen.say(f"It began with {first.name} ({first.kind}): {first.why}")
    if stack.readiness is Readiness.STANDS:
        screen.say("The stack is as it was before, and serves.")
    else:
        _show_next(stack, screen)
    return Exit.FAILED


def _show_outputs(stack: Stack, screen: Screen) -> None:
    if screen.as_json:
        screen.json({"stack": stack.name, "version": stack.version, "outputs": dict(stack.outputs)})
        return
    screen.result(f"URL        {stack.outputs.get(ENDPOINT, '')}")
    screen.result(f"sign-in    {stack.parameters.get(AUTHORIZER, '')}")
    for output, client in _CLIENTS:
        if output in stack.outputs:
            screen.result(f"{client}:\n  {stack.outputs[output]}")
    screen.say(f"Wrap a state machine: stepwire wrap NAME --endpoint {stack.name} --apply")


def _show_status(stack: Stack, ringing: Sequence[str], failures: Sequence[Event], screen: Screen) -> None:
    screen.result(f"stack      {stack.name}: {stack.readiness.value} ({stack.status})")
    screen.result(f"version    {stack.version or 'deployed from its sources'}")
    if stack.extras is not None:
        screen.result(f"extras     {', '.join(stack.extras) or NOTHING}")
    for event in failures:
        screen.result(f"failed     {event.name} ({event.kind}): {event.why}")
    for name in ringing:
        screen.result(f"alarm      {name}: docs/operations.md says what to do")
    if stack.readiness is Readiness.STANDS:
        _show_outputs(stack, screen)
    else:
        _show_next(stack, screen)


def _show_next(stack: Stack, screen: Screen) -> None:
    try:
        check_free(stack)
    except AccountError as error:
        screen.say(str(error))


def _ringing(calls: Calls, stack: Stack) -> list[str]:
    """Return the alarms of a stack that are in alarm; none if these credentials may not see them."""
    try:
        alarms = [
            held for kind, held in resources_of(calls, stack).values() if kind == "AWS::CloudWatch::Alarm" and held
        ]
        if not alarms:
            return []
        found: Any = calls.call("cloudwatch", "DescribeAlarms", AlarmNames=alarms[:100], StateValue="ALARM")
    except AccountError:
        return []
    return sorted(one["AlarmName"] for one in found.get("MetricAlarms", ()))


def _as_json(stack: Stack, ringing: Sequence[str], failures: Sequence[Event]) -> dict[str, Any]:
    return {
        "stack": stack.name,
        "status": stack.status,
        "version": stack.version,
        "extras": None if stack.extras is None else list(stack.extras),
        "alarms": list(ringing),
        "failures": [{"resource": one.name, "type": one.kind, "why": one.why} for one in failures],
        "outputs": dict(stack.outputs),
    }
