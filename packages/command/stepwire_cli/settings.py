"""Where the server is, and who asks: what options and environment say. Nothing heavy is imported here."""

import os
import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from stepwire_cli.exits import CommandError

URL: Final = "STEPWIRE_URL"
TOKEN: Final = "STEPWIRE_TOKEN"  # noqa: S105 - the name of a variable
HOME: Final = "STEPWIRE_HOME"


class Auth(StrEnum):
    """How to sign in."""

    AUTO = "auto"
    NONE = "none"
    OAUTH = "oauth"
    SIGV4 = "sigv4"


@dataclass(frozen=True)
class Settings:
    """The options that every command has."""

    url: str | None = None
    token: str | None = None
    token_file: Path | None = None
    auth: Auth = Auth.AUTO
    profile: str | None = None
    region: str | None = None
    client_id: str | None = None
    callback_port: int = 0
    as_json: bool = False

    def endpoint(self) -> str:
        """Return the server's URL.

        Raises:
            CommandError: none is given.
        """
        if not self.url:
            raise CommandError(f"Which server? Write --url URL, or set {URL}.")
        return self.url

    def command(self, *words: str) -> str:
        """Return a command line that reaches the same server."""
        where = () if os.environ.get(URL) == self.url or not self.url else ("--url", self.url)
        return shlex.join(("stepwire", *where, *words))


def home() -> Path:
    """Return the folder of this user's files."""
    if own := os.environ.get(HOME):
        return Path(own)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "stepwire"


def version() -> str:
    """Return the version of the command."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return version_of("stepwire")
    except PackageNotFoundError:
        return "unknown: it runs from its sources"


def reason(error: Exception) -> str:
    """Return why a file cannot be read or written, in words."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return (getattr(error, "strerror", None) or type(error).__name__).lower()
