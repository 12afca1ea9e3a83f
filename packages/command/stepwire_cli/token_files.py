"""Tokens that an option takes from a file.

The rule: what was given in place of a file's name is never printed, because it may be the token itself.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stepwire_cli.exits import CommandError
from stepwire_cli.settings import Settings, reason

LARGEST_TOKEN: Final = 65_536  # characters
_JWT: Final = re.compile(r"(?i:bearer\s+)?eyJ[A-Za-z0-9_-]+\.")
_EXPOSED: Final = (
    "A token on the command line can be read by every user of this machine, and is now in the shell's history: "
    "consider it stolen, and revoke it. Give a token by the name of a file, or to --jwt by standard input (--jwt -)."
)


def bearer_of(settings: Settings) -> str | None:
    """Return the token that the options give, if they give one.

    Raises:
        CommandError: its file cannot be read.
    """
    if settings.token is not None or settings.token_file is None:
        return settings.token or None
    return token_in(settings.token_file, "--token-file").strip()


def token_in(file: Path, option: str) -> str:
    """Return the text of a file with a token.

    Raises:
        CommandError: it cannot be read, or is too large for a token.
    """
    try:
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(LARGEST_TOKEN + 1)
    except (OSError, ValueError) as error:  # no UTF-8, and no name of a file, are values
        refuse_tokens([str(file)])
        raise CommandError(
            f"{option} takes the name of a file with a token, and what was given is none that can be read: "
            f"{reason(error)}. If it was the token, it is now in the shell's history: revoke it."
        ) from None
    return sized(text)


def sized(text: str) -> str:
    """Return a text that may be a token.

    Raises:
        CommandError: it is too large.
    """
    if len(text) > LARGEST_TOKEN:
        raise CommandError(f"What was read has more than {LARGEST_TOKEN:,} characters, so it is no token.")
    return text


def refuse_tokens(words: Iterable[str | None]) -> None:
    """Refuse a token among the words of a command line.

    Raises:
        CommandError: there is one.
    """
    if any(_JWT.match(word) for word in words if word):
        raise CommandError(_EXPOSED)
