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
_EPILOG: Final = """
  stepwire-wrap doctor PATH     says what is wrong with manifests, definitions and templates

Exit codes: 0 done, 1 something was found to be wrong, 2 the command line or a file is wrong, 5 no state machine
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepwire-wrap",
        description="Write manifests of the state machines in definitions, SAM templates and folders of them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a definition, a template or a folder")
    parser.add_argument("--output", type=Path, default=Path("tools"), help="where the manifests are (default: tools)")
    parser.add_argument("--endpoint", default="stepwire", help="the stack of the endpoint (default: stepwire)")
    parser.add_argument(
        "--snippet",
        choices=("sam", "cdk", "terraform", "serverless"),
        help="print the lines that register the tools in your stack",
    )
    parser.add_argument("--decides", choices=("as-now", "caller"), help="who decides where a state waits for a person")
    for one in of_extras():
        parser.add_argument(f"--{one.name}", dest="others", action="append", metavar=one.metavar, help=one.help)
    parser.add_argument(
        "--write", action="store_true", help="put what --snippet prints into your template, after a look"
    )
    parser.add_argument("--yes", action="store_true", help="replace or write without asking")
    parser.add_argument("--json", action="store_true", help="print JSON")
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
    place = drafting.Place(options.output, options.endpoint, tool, rewrites=options.write)

    def agree(question: str) -> bool:
        if options.yes or not is_asked:
            return options.yes
        return screen.ask(f"{question} [y/n] (n): ").lower() == "y"

    return wrapping.wrap(options.paths, place, screen, asked, agree)


if __name__ == "__main__":
    program()
