"""`stepwire`, and `python -m stepwire_cli`.

The rule: one line says what is wrong; no stack trace reaches the terminal.
"""

import codecs
import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeGuard

# The options of every command, which may stand anywhere: those with a value, and those without.
VALUED: Final = frozenset(
    f"--{name}" for name in ("url", "token", "token-file", "auth", "profile", "region", "client-id", "callback-port")
)
FLAGS: Final = frozenset({"--json", "--version"})
# The commands that talk to a server; its URL may be their first word.
_AT_A_SERVER: Final = (
    ("tools",),
    ("call",),
    *(("tasks", name) for name in ("list", "show", "watch", "answer", "cancel")),
)
_SCHEMES: Final = ("https://", "http://")
INTERRUPTED: Final = 130
_WRONG: Final = 2  # the command line, a file or what is installed
DEBUG: Final = "STEPWIRE_DEBUG"
_ESCAPED: Final = "escaped"
"""How a character is written that the terminal's encoding, or the name of a file, cannot have."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def main() -> None:
    """Run the command, and end the process."""
    if not os.environ.get(DEBUG):
        # An interrupt may leave an object half made, and its destructor would complain after the last line.
        sys.unraisablehook = lambda _: None
    _prepare_streams()
    code = _flushed(_run())
    if code == INTERRUPTED:  # at once: threads that still read an account would be waited for
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _prepare_streams() -> None:
    """Let whatever is printed be written, also where a stream was closed before the command began."""
    codecs.register_error(_ESCAPED, _escape)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: PTH123, SIM115 - for the whole process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPED)


def _run() -> int:
    """Run the command, and return its exit code."""
    try:
        from stepwire_cli.app import run

        return run(in_front(sys.argv[1:]))
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name is None or os.environ.get(DEBUG):
            raise
        sys.stderr.write(f"error: {_lacking(error.name.partition('.')[0])}\n")
        return _WRONG
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        sys.stderr.write(f"error: {_fault(error)}\n")
        return _WRONG if _is_of_the_system(error) else 1


def _flushed(code: int) -> int:
    """Write what was printed and not written yet, and return the exit code; a closed pipe has seen enough."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would try again at its end
        if not isinstance(error, BrokenPipeError) and code != _WRONG:  # else it was said
            sys.stderr.write(f"error: {_fault(error)}\n")
            return code or _WRONG
    return code


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Return what cannot be encoded as JSON escapes it, so that JSON stays JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _is_of_the_system(error: Exception) -> TypeGuard[OSError]:
    """Tell whether a file or a folder cannot be used, or the disk is full: no fault of stepwire."""
    return isinstance(error, OSError) and (error.filename is not None or error.errno in _FULL)


def _lacking(package: str) -> str:
    """Say which package is not installed, and how to install it."""
    return f"This needs the package {package}. Install it with: pip install 'stepwire'"


def _fault(error: Exception) -> str:
    """Return an error that nothing expected in a line, without its words: they may hold arguments or results."""
    if _is_of_the_system(error):
        where = "standard output" if error.filename is None else error.filename
        return f"{where}: {str(error.strerror).lower()}."
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {place.tb_frame.f_code.co_filename.rpartition('/')[2]}:{place.tb_lineno}"
    return f"{type(error).__name__}{where}. This is a fault of stepwire; {DEBUG}=1 shows where it comes from."


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
    return _with_url([*front, *rest], len(front))


def _with_url(words: list[str], at: int) -> list[str]:
    """Return the words with a URL that stands behind the command's name as an option."""
    for command in _AT_A_SERVER:
        behind = at + len(command)
        if tuple(words[at:behind]) == command and words[behind : behind + 1] and words[behind].startswith(_SCHEMES):
            return ["--url", words[behind], *words[:behind], *words[behind + 1 :]]
    return words


if __name__ == "__main__":
    main()
