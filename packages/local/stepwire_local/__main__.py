"""The command `stepwire-local`: serves templates, shows the logs of their functions, and invokes these.

The rule: what a command needs is imported when it runs, so that `--help` and a wrong option are answered at once.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

from stepwire_local.commands.options import options_of
from stepwire_local.errors import LocalStackError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 2 where it cannot be done, with a one-line reason."""
    options = options_of(sys.argv[1:] if arguments is None else arguments)
    try:
        return import_module(f"stepwire_local.commands.{options.command}").run(options)
    except LocalStackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def program() -> None:
    """Run the command line, and end the process."""
    code = main()
    # What served has run functions, whose threads cannot be stopped.
    import_module("stepwire_local.terminal.leaving").leave(code)


if __name__ == "__main__":
    program()
