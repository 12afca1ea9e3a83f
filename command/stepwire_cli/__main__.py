"""`stepwire`, and `python -m stepwire_cli`.

The rule: one line says what is wrong; no stack trace reaches the terminal.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

# The options of every command, which may stand anywhere: those with a value, and those without.
VALUED: Final = frozenset(
    f"--{name}" for name in ("url", "token", "token-file", "auth", "profile", "region", "client-id", "callback-port")
)
FLAGS: Final = frozenset({"--json", "--version"})


def main() -> None:
    """Run the command, and end the process."""
    from stepwire_cli.app import run

    try:
        code = run(in_front(sys.argv[1:]))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def in_front(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the options of every command before the command's name."""
    front, rest, words = list[str](), list[str](), iter(arguments)
    for word in words:
        if word == "--":
            return [*front, *rest, word, *words]
        if word in FLAGS or (word.partition("=")[0] in VALUED and "=" in word):
            front.append(word)
        elif word in VALUED:
            front += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            rest.append(word)
    return [*front, *rest]


if __name__ == "__main__":
    main()
