"""What `stepwire --help` and `stepwire help` show: the commands in groups, and what all of them share.

The rule: each is one screen of 24 lines and 80 columns. Nothing heavy is imported here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

USE: Final = "Use a server"
BUILD: Final = "Build tools"
DEPLOY: Final = "Deploy an endpoint"
OPERATE: Final = "Operate an endpoint"
_GROUPS: Final = (USE, BUILD, DEPLOY, OPERATE)
_WIDTH: Final = 80
_SHARED: Final[Mapping[str, tuple[str, str]]] = {
    "url": ("--url URL", "The server. Variable: STEPWIRE_URL."),
    "token": ("--token TOKEN", "A bearer token. Variable: STEPWIRE_TOKEN."),
    "token_file": ("--token-file FILE", "A file with a bearer token."),
    "auth": ("--auth KIND", "auto, none, oauth or sigv4. auto: as the server asks."),
    "client_id": ("--client-id ID", "For OAuth: this client's id at the issuer."),
    "callback_port": ("--callback-port PORT", "For OAuth: of http://localhost:PORT/callback."),
    "profile": ("--profile NAME", "The AWS profile, for an account and for sigv4."),
    "region": ("--region NAME", "The AWS Region, for an account and for sigv4."),
    "json": ("--json", "Print JSON, and ask nothing."),
}
_OWN: Final = (("--version", "Print the version."), ("--install-completion", "Let your shell complete commands."))
_EXAMPLES: Final = (
    "stepwire tools http://127.0.0.1:3000/mcp",
    "stepwire call approve_refund order_id=A-1042 amount=249",
    "stepwire tasks watch ID",
)
_CODES: Final = (
    ("1", "the tool or the task failed, or something was found to be wrong"),
    ("2", "the command line, an argument or a file is wrong"),
    ("3", "no server was reached, or it refused"),
    ("4", "a sign-in is needed, or a right is missing"),
    ("5", "there is no such task, tool, host, state machine or stack"),
    ("6", "the task waits for an answer that nobody gave"),
    ("130", "Ctrl-C; the task runs on, unless you chose to cancel it"),
)
_ABOUT: Final = "Stepwire serves AWS Step Functions workflows as tools of an MCP server."
_MORE: Final = "More: stepwire COMMAND --help; stepwire help: options, examples, exit codes."


class Groups(TyperGroup):
    """All commands, in groups: each is in the one that its `rich_help_panel` names."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the groups, the narrowest that can be read."""
        formatter.write(f"Usage: {ctx.command_path} COMMAND [ARGS]...\n")
        formatter.write(f"{_ABOUT}\n")
        shown = {name: one for name, one in self.commands.items() if not one.hidden}
        rows = dict(
            zip(shown, _rows((name, one.get_short_help_str(_WIDTH)) for name, one in shown.items()), strict=True)
        )
        for title in _GROUPS:
            formatter.write(f"{title}:\n")
            for name, one in shown.items():
                if _group_of(one) == title:
                    formatter.write(f"{rows[name]}\n")
        formatter.write(f"{_MORE}\n")


def _group_of(command: object) -> object:
    return getattr(command, "rich_help_panel", None)


def sharing(*names: str) -> type[TyperCommand]:
    """Return the class of commands whose help lists these of the options that may stand anywhere in the line."""

    class Sharing(TyperCommand):
        def format_options(self, ctx: Any, formatter: Any) -> None:
            super().format_options(ctx, formatter)
            with formatter.section("Options that may stand anywhere"):
                formatter.write_dl([_SHARED[name] for name in names])

    return Sharing


AtServer: Final = sharing(*_SHARED)
"""A command that asks an MCP server."""
InAccount: Final = sharing("profile", "region", "json")
"""A command that asks an AWS account."""


def second_screen() -> Iterator[str]:
    """Yield the lines of what all commands share."""
    yield "Options, anywhere in the line; a server's URL may stand behind the command:"
    yield from _rows([*_SHARED.values(), *_OWN])
    yield "Examples:"
    yield from (f"  {one}" for one in _EXAMPLES)
    yield "Exit codes, beside 0 for done:"
    yield from _rows(_CODES)


def _rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    found = [*rows]
    width = max((len(name) for name, _ in found), default=0)
    return [f"  {name:<{width}}  {words}" for name, words in found]
