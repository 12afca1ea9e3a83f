"""Drive real hosts with a scripted model against the local stack, and print what became of each case: `make hosts`.

Exit code 1 if a case did not end as expected. A host that cannot be installed or run is skipped with a word. Needs the
npm registry and PyPI once, for some gigabytes; the hosts themselves get no account, an empty home and no internet.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, NoReturn, TextIO

from stepwire_local.lambdas.function_output import FOLDER, kept_in
from stepwire_local.terminal.leaving import leave
from tests.npm import install
from tools.hosts import environments
from tools.hosts.cases import CASES, IDLE, Case, Report, applies, run
from tools.hosts.hosts import HOSTS, PACKAGES, Host

_TERMINATED: Final = 128 + signal.SIGTERM
_FEW: Final = 300
"""Characters of what a program says of its failure."""
COLUMNS: Final = "{:47} {:11} {:>4}  {}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _leave)
    # In the background of a shell, Ctrl-C is ignored, and would be so by each host.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = [host for host in HOSTS if options.host.casefold() in host.name.casefold()]
    try:
        if not all(host.packages for host in chosen):
            install(PACKAGES)
    except subprocess.SubprocessError as error:
        said = " ".join(str(error.stderr if isinstance(error, subprocess.CalledProcessError) else error).split())
        print(f"skipped: npm cannot install the hosts: {said[:_FEW]}")
        return 0
    screen = sys.stdout
    print(COLUMNS.format("host", "case", "exit", "what happened"))
    with kept_in(FOLDER, "hosts"):
        reports = [report for host in chosen for report in _reports(host, options.case, screen)]
    _show_clients(reports)
    faults = [f"{one.host.name}, {one.case.name}: {fault}" for one in reports for fault in one.faults]
    print("", *faults, f"{len(faults)} faults" if faults else "Each case ended as expected.", sep="\n")
    return 1 if faults else 0


def _leave(number: int, frame: object) -> NoReturn:
    """Leave as after Ctrl-C, so that hosts and their homes are removed."""
    sys.exit(_TERMINATED)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.hosts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--host", default="", help="only hosts with this in their name")
    parser.add_argument("--case", default="", help="only cases with this in their name; `idle` is run if it is named")
    return parser.parse_args(arguments)


def _reports(host: Host, chosen: str, screen: TextIO) -> Sequence[Report]:
    """Run a host's cases, one after the other, and print a line for each."""
    if reason := _reason_to_skip(host):
        print(COLUMNS.format(host.name, "-", "-", f"skipped: {reason}"), file=screen, flush=True)
        return []
    cases = [IDLE] if chosen == IDLE.name else [case for case in CASES if chosen in case.name]
    return [_shown(host, case, screen) for case in cases if applies(host, case)]


def _reason_to_skip(host: Host) -> str | None:
    """Say why a host cannot be run; None where it can."""
    if host.program is None:
        return "its package has no program for this machine"
    if host.packages:
        return environments.install(host.environment, host.packages)
    if host.is_script:
        return None
    try:
        subprocess.run([str(host.program), "--version"], capture_output=True, timeout=60, check=True, env={})
    except (OSError, subprocess.SubprocessError) as error:
        return f"it does not run here: {error}"
    return None


def _shown(host: Host, case: Case, screen: TextIO) -> Report:
    report = run(host, case)
    code = "-" if report.exit_code is None else report.exit_code
    lines = [COLUMNS.format(host.name, case.name, code, report.happened), *(f"    {one}" for one in report.faults)]
    words = [f"    it wrote: {report.last_words}"] if report.faults else []
    print(*lines, *words, sep="\n", file=screen, flush=True)
    return report


def _show_clients(reports: Sequence[Report]) -> None:
    print("\nAs the server saw them (name and version; User-Agent; version of the protocol):")
    print(*dict.fromkeys(f"  {one.host.name}: {one.client}" for one in reports), sep="\n")
    print("\nAsked for on the internet, and refused:")
    names = sorted({name for one in reports for name in one.asked_for})
    print(f"  {', '.join(names) or 'nothing'}")


if __name__ == "__main__":
    leave(main())
