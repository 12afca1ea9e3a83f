"""Try in a real account what the pages call not tried: `python -m tools.first_run`, or `make first-run`.

It says what it will do and what that costs at most, asks, and removes all in the end. The exit code is 0 if the table
was written and nothing is left, 1 if something is left or the run was interrupted, 2 if it could not begin.
"""

import argparse
import secrets
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.connecting import connected
from stepwire_cli.deployment.release import Release, opened
from stepwire_cli.exits import CommandError
from tools.first_run import cost
from tools.first_run.account import ROOT, Account, quietly
from tools.first_run.clock import Clock
from tools.first_run.journal import Journal
from tools.first_run.removal import Left, Removal, remove_all
from tools.first_run.report import Head, report
from tools.first_run.running import Interrupts, run
from tools.first_run.table import TRIALS
from tools.first_run.trial import Trial

FOLDER: Final = Path(".first-run")
_HOUR: Final = 60
_OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _options(arguments)
    try:
        if options.remove:
            return _end(_removed(options))
        with _account(options) as account:
            trials = [one for one in TRIALS if not options.only or one.name in options.only]
            return offered(trials, account, lambda: options.yes or _agrees())
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def offered(trials: Sequence[Trial], account: Account, agree: Callable[[], bool]) -> int:
    """Say what will be done, ask, do it, and return the exit code.

    Raises:
        CommandError: nobody can be asked.
    """
    print(announced(trials, account))
    if not agree():
        print("Nothing was made.")
        return 2
    account.journal.begin(account.prefix, account.number, account.region)
    rows, left = run(trials, account, _say)
    head = Head(datetime.now(UTC), account.region, account.release.version, account.prefix, bool(account.emulated))
    page = account.journal.path.with_suffix(".md")
    page.write_text(report(head, rows, left), encoding="utf-8")
    print(f"The table is in {page}.")
    return _end(left) or int(any(row.seen is None for row in rows))


def announced(trials: Sequence[Trial], account: Account) -> str:
    """Return what will be done, where, under which names, how long and for how much."""
    parts = cost.parts(account.release, sum(one.most for one in trials) / 60)
    about, most = sum(one.minutes for one in trials), sum(one.most for one in trials) / 60
    where = f"the emulated AWS at {account.emulated}" if account.emulated else f"the account {account.number}"
    return "\n".join(
        [
            f"In {where}, Region {account.region}, this makes things whose names begin with {account.prefix}:",
            "an endpoint without sign-in, whose only tool waits and echoes, a second one over a copy of its table,",
            "a role with the permissions of docs/deploying.md, a key, a bucket, and small stacks. It tries:",
            *(f"  {one.name}: {one.does}" for one in trials),
            f"Then it removes all that it made. It takes about {about} minutes, and at most {most:.0f} hours.",
            f"By list prices it costs at most ${sum(parts.values()):.2f}: "
            + ", ".join(f"{name} ${dollars:.2f}" for name, dollars in parts.items())
            + ".",
            f"What it makes is in {account.journal.path}: if it is killed, --remove {account.prefix} removes that.",
        ]
    )


def _removed(options: argparse.Namespace) -> list[Left]:
    """Remove what an earlier run has left.

    Raises:
        CommandError: there is no journal of it, or these credentials are of another account.
    """
    named = Path(options.remove)
    journal = Journal(named if named.suffix else options.folder / f"{named}.jsonl")
    if not journal.path.is_file():
        raise CommandError(f"there is no journal {journal.path}: name its file, or its folder with --folder")
    calls = connected(options.profile, journal.head["region"])
    theirs, ours = journal.head["account"], calls.call("sts", "GetCallerIdentity")["Account"]
    if theirs != ours:
        raise CommandError(f"that run was in the account {theirs}, and these credentials are of {ours}")
    with quietly(journal.path.with_suffix(".log")) as screen, Interrupts(_say, named.stem, is_removing=True).handled():
        return remove_all(journal, Removal(calls, Clock(), screen, _say))


def _end(left: Sequence[Left]) -> int:
    for one in left:
        print(f"left: {one.made.kind} {one.made.name} ({one.why}). To remove it: {one.command}")
    print("Something is left." if left else "Nothing is left.")
    return 1 if left else 0


@contextmanager
def _account(options: argparse.Namespace) -> Generator[Account]:
    """Yield the account of the credentials, with names of a new run.

    Raises:
        CommandError: there are no credentials, no Region or no release.
    """
    calls = connected(options.profile, options.region)
    number = calls.call("sts", "GetCallerIdentity")["Account"]
    if calls.region is None:
        raise CommandError("no Region: add --region, or set AWS_REGION")
    release, emulated, prefix = _release(options), _emulated(calls), f"stepwire-first-run-{secrets.token_hex(3)}"
    options.folder.mkdir(parents=True, exist_ok=True)
    with quietly(options.folder / f"{prefix}.log") as screen:
        yield Account(
            calls,
            number,
            calls.region,
            prefix,
            release,
            Journal(options.folder / f"{prefix}.jsonl"),
            Clock(minute=1.0 if emulated else 60.0),
            screen,
            emulated=emulated,
            vpc_endpoint=options.vpc_endpoint,
            idle_minutes=_HOUR if options.idle_hour else 20,
        )


def _release(options: argparse.Namespace) -> Release:
    """Return the release: the one that is named, that of `make release`, or the command's own."""
    made = sorted((ROOT / "dist").glob("stepwire-*.zip"))
    return opened(options.release or (made[-1] if made else None))


def _emulated(calls: Calls) -> str:
    """Return the URL that answers in place of AWS; empty: AWS does."""
    url = str(calls.build_client("cloudformation").meta.endpoint_url)
    return "" if (urlsplit(url).hostname or "").endswith(_OF_AWS) else url.rstrip("/")


def _say(text: str) -> None:
    print(text, flush=True)


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise CommandError("nobody can be asked here: add --yes to go on")
    return input("Go on? [y/n] (n): ").strip().lower() == "y"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.first_run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--profile", help="of the AWS configuration")
    parser.add_argument("--region", help="default: AWS_REGION, or the profile's")
    parser.add_argument("--release", type=Path, help="default: the newest in dist/, or the command's own")
    parser.add_argument(
        "--only", action="append", choices=[one.name for one in TRIALS], help="one trial; can be repeated"
    )
    parser.add_argument("--vpc-endpoint", default="", help="id of an interface endpoint for execute-api")
    parser.add_argument("--idle-hour", action="store_true", help="watch the idle endpoint for an hour, not 20 minutes")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="of the journal and the table (default: .first-run)"
    )
    parser.add_argument(
        "--remove", metavar="PREFIX|JOURNAL", help="remove what a killed run has left, and do nothing else"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
