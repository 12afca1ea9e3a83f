"""The options of `stepwire-local` and of its commands.

The rule: this imports nothing of AWS or moto, so that `--help` takes no time.
"""

import argparse
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from stepwire_local.issuer import SHAPES
from stepwire_local.lambdas.function_output import FOLDER
from stepwire_local.stubs.scripts import LIMIT

TEMPLATES: Final = ("template.yaml",)
PORT: Final = 3000
_URL: Final = f"http://127.0.0.1:{PORT}"
_EPILOG: Final = """
commands:
  stepwire-local                             serve the templates until Ctrl-C
  stepwire-local logs                        show what the functions wrote
  stepwire-local invoke FUNCTION [EVENT]     invoke a function of what is served
  stepwire-local fire SCHEDULE               let a schedule of what is served fire now
Each has a --help of its own. The environment variable LOG=json makes every line of the screen a JSON object.
"""


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line, with its command: `serve`, unless the first argument names another."""
    command, parser = "serve", _serve
    if arguments and arguments[0] in _OTHERS:
        command, arguments = arguments[0], arguments[1:]
        parser = _OTHERS[command]
    return parser().parse_args(arguments, argparse.Namespace(command=command))


def _logs() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepwire-local logs", description="Show the functions' log of the last run, one line per record."
    )
    parser.add_argument("file", nargs="?", type=Path, help="one file (default: the newest)")
    parser.add_argument("--follow", "-f", action="store_true", help="show new lines until Ctrl-C")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are (default: %(default)s)")
    return parser


def _invoke() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepwire-local invoke",
        description="Invoke a function of the application that is served, and print its result.",
        epilog="Exit codes: 0 a result, 1 the function failed, 2 it was not invoked.",
    )
    parser.add_argument("function", metavar="FUNCTION", help="its logical id in the template")
    parser.add_argument(
        "event", nargs="?", default="{}", metavar="EVENT", help="JSON, a file of JSON, or - for standard input"
    )
    _add_url(parser)
    return parser


def _fire() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepwire-local fire",
        description="Let a schedule of the application that is served fire now.",
        epilog="Exit codes: 0 it fired, 2 it did not.",
    )
    parser.add_argument("schedule", metavar="SCHEDULE", help="its logical id, which the start shows")
    _add_url(parser)
    return parser


def _add_url(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", default=_URL, help="where the application is served (default: %(default)s)")


_OTHERS: Final = {"logs": _logs, "invoke": _invoke, "fire": _fire}


def _serve() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepwire-local",
        description="Serve SAM templates on 127.0.0.1.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_stack(parser)
    parser.add_argument(
        "--expire-after",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="delay between the TTL of an item and its removal (default: %(default)s; in AWS hours or days)",
    )
    parser.add_argument(
        "--logs",
        type=Path,
        default=FOLDER,
        metavar="FOLDER",
        help="folder of the functions' log files (default: %(default)s)",
    )
    _add_stubs(parser)
    parser.add_argument(
        "--longest-wait",
        type=_seconds,
        metavar="SECONDS",
        help="time that a Wait state or the interval of a retry takes at most (default: as long as it says)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="list what is different from AWS for every application, too"
    )
    _add_services(parser)
    _add_issuer(parser)
    return parser


def _add_issuer(parser: argparse.ArgumentParser) -> None:
    endpoint = parser.add_argument_group("for an endpoint of Stepwire, which serves MCP clients")
    endpoint.add_argument(
        "--issuer",
        choices=sorted(SHAPES),
        metavar="SHAPE",
        help=f"require sign-in, at a test issuer that asks who you are, of a shape: {', '.join(sorted(SHAPES))}",
    )


def _add_stack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--template",
        action="append",
        metavar="FILE",
        help="a template; of several, the first has the API, the others are stacks beside it (default: template.yaml)",
    )
    parser.add_argument(
        "--name", help="the name of the first template's stack, which its resources have in their names, and by which "
        "others mean it (default: the name of its folder)",
    )  # fmt: skip
    parser.add_argument("--port", type=int, help="0 takes any free port (default: 3000; with --services 4566)")
    parser.add_argument(
        "--parameter",
        action="append",
        type=_assignment,
        default=[],
        metavar="KEY=VALUE",
        help="value of a parameter, for each template that declares it; may be repeated",
    )
    parser.add_argument(
        "--variable",
        action="append",
        type=_assignment,
        default=[],
        metavar="KEY=VALUE",
        help="environment variable of each function, besides those of its template; may be repeated",
    )
    parser.add_argument(
        "--make-up-parameters",
        action="store_true",
        help="make up the values of parameters that have no default, and say so",
    )


def _add_stubs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stub",
        action="append",
        type=_assignment,
        default=[],
        metavar="NAME=FILE",
        help="a .json answer or a .py script for what cannot run here: a function, a state, an action such as "
        "sns:publish, or a state machine; may be repeated. Files in the folder `stubs` beside a template count too",
    )
    parser.add_argument(
        "--write-stubs",
        nargs="?",
        choices=("missing", "all"),
        const="missing",
        metavar="missing|all",
        help="write the missing stubs into the folder `stubs` beside each template, with made-up answers; with `all`, "
        "of tasks that run here too. No file is overwritten",
    )
    parser.add_argument(
        "--stub-seconds",
        type=_seconds,
        default=LIMIT,
        metavar="SECONDS",
        help="time that a stub's script may take (default: %(default)g)",
    )


def _add_services(parser: argparse.ArgumentParser) -> None:
    services = parser.add_argument_group("for `sam local`, which serves the API itself")
    services.add_argument(
        "--services", action="store_true", help="serve the AWS services with the template's resources, not the API"
    )
    services.add_argument(
        "--host",
        type=_address,
        default=IPv4Address("127.0.0.1"),
        metavar="ADDRESS",
        help="the IPv4 address of this machine that the services listen on (default: %(default)s)",
    )
    services.add_argument(
        "--env-vars",
        type=Path,
        default=Path(".aws-sam/local-env.json"),
        metavar="FILE",
        help="file to write the functions' environment variables to (default: %(default)s)",
    )


def _address(text: str) -> IPv4Address:
    try:
        address = IPv4Address(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IPv4 address") from None
    if address.is_unspecified:
        raise argparse.ArgumentTypeError(f"{text} is every address of this machine; name the one that containers call")
    return address


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds
