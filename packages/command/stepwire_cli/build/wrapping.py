"""`stepwire wrap` and `stepwire doctor --endpoint` at a terminal: progress, and a question before a replacement."""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stepwire.principal import ROLE_PATTERN
from stepwire_cli.account import commands
from stepwire_cli.account.commands import DOCTOR
from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.machines import Chosen
from stepwire_cli.agreeing import agrees, answered
from stepwire_cli.deployment.stack import NAME, NAMES
from stepwire_cli.exits import CommandError
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.visible_text import plain
from stepwire_wrap import wrapping as files
from stepwire_wrap.deciding import Deciding
from stepwire_wrap.definitions.snippets import Tool
from stepwire_wrap.drafting import Place


@dataclass(frozen=True)
class Given:
    """The options of `stepwire wrap`, as they were written."""

    names: Sequence[str]
    tag: str | None
    stack: str | None
    endpoint: str
    folder: Path
    snippet: str | None
    samples: int
    role: str
    applies: bool
    is_dry: bool
    says_yes: bool
    decides: str | None = None
    others: Sequence[str] = ()
    """Who the others are that decide, as the option of an extra says it."""
    writes: bool = False


def wrap(settings: Settings, given: Given) -> int:
    """Describe state machines as tools.

    Raises:
        CommandError: nothing could be done.
    """
    screen = Screen(as_json=settings.as_json)
    if given.role and not re.fullmatch(ROLE_PATTERN, given.role):
        raise CommandError(f"{given.role[:100]!r} is no ARN of a role: write --role arn:aws:iam::ACCOUNT:role/NAME.")
    if not NAME.fullmatch(given.endpoint):
        raise CommandError(f"{given.endpoint[:100]!r} is no name of a stack: write --endpoint with {NAMES}.")
    is_asked = screen.is_interactive and not (screen.as_json or given.says_yes)
    deciding = Deciding.of(given.decides, given.others, partial(answered, screen) if is_asked else None)

    def agree(question: str) -> bool:
        return given.says_yes or agrees(screen, question)

    if paths := _paths(given):
        place = Place(given.folder, given.endpoint, _tool(given), rewrites=given.writes, doctor=DOCTOR)
        return files.wrap(paths, place, screen, deciding, agree)
    if given.writes:
        raise CommandError("--write changes templates and definitions: write a PATH to them.")
    chosen = Chosen(given.names, _tag(given.tag), given.stack)
    calls = endpoint_of(settings, given.endpoint).calls
    with _progress(screen) as watch:
        options = commands.Wrap(
            chosen,
            given.folder,
            given.endpoint,
            _tool(given),
            given.samples,
            given.role,
            given.applies,
            given.is_dry,
            deciding,
            agree,
            watch,
        )
        try:
            return commands.wrap(options, calls, screen)
        except KeyboardInterrupt:
            screen.say("Stopped. What is listed above was done and stays; the same command does the rest.")
            raise


def doctor(settings: Settings, endpoint: str) -> int:
    """Say what is wrong with the tools of an endpoint.

    Raises:
        CommandError: it cannot be found out.
    """
    screen = Screen(as_json=settings.as_json)
    return commands.doctor(endpoint, endpoint_of(settings, endpoint).calls, screen)


def _paths(given: Given) -> list[Path]:
    """Return the files and folders that were named; none if state machines of an account were.

    Raises:
        CommandError: both were, or an option that only an account has.
    """
    found = [] if given.tag or given.stack or given.role else [one for one in given.names if files.is_path(one)]
    if found and (given.applies or given.is_dry):
        raise CommandError(
            f"{found[0]} is a file or folder: --apply registers state machines of an account, so name those. "
            f"--snippet prints the lines for your stack."
        )
    if found and len(found) < len(given.names):
        raise CommandError(f"{found[0]} is a file or folder: name only these, or only state machines of an account.")
    return [Path(one) for one in found]


def _tool(given: Given) -> Tool | None:
    return None if given.snippet is None else Tool(given.snippet)


def _tag(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise CommandError(f"{text!r} is no tag: write --tag KEY=VALUE.")
    return key, value


@contextmanager
def _progress(screen: Screen) -> "Generator[Callable[[int, str], None]]":
    """Show a bar while state machines are read, on a terminal; it is gone before anything else is printed."""
    columns = (
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    bar = Progress(*columns, console=screen.err, transient=True, disable=screen.as_json or not screen.err.is_terminal)
    reading = bar.add_task("", total=None)

    def watch(number: int, name: str) -> None:
        bar.update(reading, total=number, description=plain(name), advance=1)
        if bar.tasks[0].completed >= number:
            bar.stop()

    bar.start()
    try:
        yield watch
    finally:
        bar.stop()
