"""`stepwire deploy`, `upgrade`, `status` and `destroy` at a terminal: the options, and one question."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.connecting import connected
from stepwire_cli.agreeing import agrees
from stepwire_cli.deployment import commands, parameters, removing
from stepwire_cli.deployment.checkout import release_of_checkout
from stepwire_cli.deployment.release import Source, is_carried, opened
from stepwire_cli.exits import CommandError
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings


@dataclass(frozen=True)
class Given:
    """The options of `stepwire deploy` and `upgrade`, as they were written."""

    name: str
    pairs: Sequence[str]
    source: Source
    bucket: str | None
    says_yes: bool
    even_in_use: bool = False
    is_upgrade: bool = False
    goes_back: bool = False
    is_dry_run: bool = False
    is_offline: bool = False


def deploy(settings: Settings, given: Given) -> int:
    """Deploy a release.

    Raises:
        CommandError: it cannot be done.
    """
    if given.is_offline and not given.is_dry_run:
        raise CommandError("--offline needs --dry-run: without the account, nothing can be deployed.")
    screen = Screen(as_json=settings.as_json)
    release, pairs = opened(given.source.file, given.source.sha256), _pairs(given.pairs)
    screen.say(f"release {release.version}, SHA-256 {release.digest}")
    options = commands.Deployment(
        given.name,
        pairs,
        given.bucket,
        extras=given.source.chosen(release),
        is_upgrade=given.is_upgrade,
        goes_back=given.goes_back,
        is_dry_run=given.is_dry_run,
        is_offline=given.is_offline,
        agree=agreeing(screen, says_yes=given.says_yes),
        agree_to_loss=agreeing(screen, says_yes=given.even_in_use, option="--even-in-use"),
    )
    return commands.deploy(options, release, _calls(settings), screen)


def print_template(settings: Settings, source: Source) -> int:
    """Print the template of a release with the chosen extras, or with all: what another tool deploys.

    Raises:
        CommandError: there is no release, or an extra is not of it.
    """
    screen, release = Screen(as_json=settings.as_json), source.opened()
    if screen.as_json:
        screen.json(release.document)
    else:
        sys.stdout.write(release.template)
    return 0


def list_parameters(settings: Settings, source: Source, words: Sequence[str]) -> int:
    """Print the parameters of a release: the core's on a screen, or explain those of extras, or single ones.

    In a checkout without a release, they are those of its templates.

    Raises:
        CommandError: there is no release, or it has no parameter and no extra of such a name.
    """
    screen = Screen(as_json=settings.as_json)
    is_built = is_carried() or source.file is not None or source.sha256 is not None
    release = (None if is_built else release_of_checkout()) or opened(source.file, source.sha256)
    found = parameters.parameters_of(release)
    if screen.as_json:
        screen.json(parameters.as_json(found))
        return 0
    lines = [line for word in words for line in parameters.explained(release, found, word)]
    for line in lines or parameters.screen_of_the_core(found):
        screen.result(line)
    return 0


def status(settings: Settings, name: str, *, watches: bool) -> int:
    """Say how a stack stands.

    Raises:
        CommandError: it cannot be found out.
    """
    return commands.status(name, _calls(settings), Screen(as_json=settings.as_json), time.sleep, watches=watches)


def destroy(settings: Settings, name: str, *, with_data: bool, says_yes: bool) -> int:
    """Delete a stack.

    Raises:
        CommandError: it cannot be done.
    """
    screen = Screen(as_json=settings.as_json)
    options = removing.Removal(name, with_data=with_data, agree=agreeing(screen, says_yes=says_yes))
    return removing.destroy(options, _calls(settings), screen)


def _calls(settings: Settings) -> Calls:
    return connected(settings.profile, settings.region)


def agreeing(screen: Screen, *, says_yes: bool, option: str = "--yes") -> Callable[[str], bool]:
    """Return what asks at the terminal, or raises CommandError where nobody can be asked and no option has agreed."""

    def agree(question: str) -> bool:
        if says_yes:
            return True
        if not screen.is_interactive:
            raise CommandError(f"Nobody can be asked here: add {option} to go on.")
        return agrees(screen, question)

    return agree


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Return the parameters that a command line sets.

    Raises:
        CommandError: a word is no pair, or a name stands twice.
    """
    found = dict[str, str]()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise CommandError(f"{word!r} is no parameter: write NAME=VALUE, such as Authorizer=cognito.")
        if name in found:
            raise CommandError(f"{name} stands twice.")
        found[name] = value
    return found
