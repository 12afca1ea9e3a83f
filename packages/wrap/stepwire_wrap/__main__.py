"""`stepwire-wrap`: write manifests of the state machines in files, or say what is wrong with them.

The rule: one line says what is wrong with the command line; the parsers are loaded after it was read.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from stepwire_wrap.exits import Exit, WrapError
from stepwire_wrap.options import of_extras

_DOCTOR: Final = "doctor"
_ABOUT: Final = """\
Write a manifest for each Step Functions state machine in files and folders.
A manifest describes the state machine as a tool of an MCP server, which a model
can call: its name, its description, and its input as a JSON Schema."""
_EPILOG: Final = """\
Example: stepwire-wrap .         writes tools/NAME.yaml for each. Review, then:
  stepwire-wrap doctor tools     says what is wrong with them
  stepwire-wrap . --snippet sam  prints the lines that register the tools

Exit codes: 0 done, 1 something is wrong, 2 wrong input, 5 no state machine
"""


def program() -> None:
    """Run the command, and end the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would try again at its end
        code = Exit.DONE
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _doctor(given[1:]) if given[:1] == [_DOCTOR] else _wrap(given)
    except WrapError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.code
    except KeyboardInterrupt:
        return Exit.STOPPED


def _doctor(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=f"stepwire-wrap {_DOCTOR}", description="Say what is wrong with manifests, definitions and templates."
    )
    parser.add_argument("path", metavar="PATH", type=Path, help="a file, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    screen = import_module("stepwire_wrap.terminal").Terminal(as_json=options.json)
    return import_module("stepwire_wrap.examining").doctor(options.path, screen)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Leaves most options a line each, so that the help is one screen of 24 lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=20)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepwire-wrap",
        usage="stepwire-wrap PATH... [OPTIONS]",
        description=_ABOUT,
        epilog=_EPILOG,
        formatter_class=_Formatter,
        add_help=False,
    )
    group = parser.add_argument_group()  # one, without a heading
    group.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a definition, a template or a folder")
    group.add_argument(
        "--output", metavar="FOLDER", type=Path, default=Path("tools"), help="where the manifests are (default: tools)"
    )
    group.add_argument(
        "--endpoint", metavar="NAME", default="stepwire", help="the stack of the endpoint (default: stepwire)"
    )
    group.add_argument(
        "--snippet",
        metavar="KIND",
        choices=("sam", "cdk", "terraform", "serverless"),
        help="print lines for a sam, cdk, terraform or serverless stack",
    )
    group.add_argument("--write", action="store_true", help="show these lines in your template, ask, and write them")
    group.add_argument(
        "--decides",
        metavar="WHO",
        choices=("as-now", "caller"),
        help="who decides where a state waits for people: as-now, caller",
    )
    for one in of_extras():
        group.add_argument(f"--{one.name}", dest="others", action="append", metavar=one.metavar, help=one.help)
    group.add_argument("--yes", action="store_true", help="replace or write without asking")
    group.add_argument("--json", action="store_true", help="print JSON")
    group.add_argument("-h", "--help", action="help", help="show this")
    return parser


def _wrap(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    terminal, deciding, drafting, snippets, wrapping = (
        import_module(f"stepwire_wrap.{name}")
        for name in ("terminal", "deciding", "drafting", "definitions.snippets", "wrapping")
    )
    screen = terminal.Terminal(as_json=options.json)
    is_asked = screen.is_interactive and not options.yes
    asked = deciding.Deciding.of(
        options.decides, getattr(options, "others", None) or (), screen.ask if is_asked else None
    )
    tool = None if options.snippet is None else snippets.Tool(options.snippet)
    place = drafting.Place(
        options.output, options.endpoint, tool, rewrites=options.write, doctor=f"stepwire-wrap {_DOCTOR}"
    )

    def agree(question: str) -> bool:
        if options.yes or not is_asked:
            return options.yes
        return screen.ask(f"{question} [y/n] (n): ").lower() == "y"

    return wrapping.wrap(options.paths, place, screen, asked, agree)


if __name__ == "__main__":
    program()
