"""The commands about one caller, whom an operator blocks, exports and erases."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from stepwire_cli.operator_commands import OfStack
from stepwire_cli.settings import Settings

if TYPE_CHECKING:
    from stepwire_cli.extras.callers.who import Who

_OTHER_WORDS: Final = {"find": "whois", "who": "whois", "list": "blocked", "blocks": "blocked", "cancel": "cancel-all"}
"""What people type, and the command that does it."""


class Commands(TyperGroup):
    """The commands, also where somebody has another word for one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by its name; say which one another word means."""
        if args and (meant := _OTHER_WORDS.get(args[0])) is not None:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{meant}'?")
        return super().resolve_command(ctx, args)


caller = typer.Typer(
    cls=Commands,
    help="Find, stop, export and erase one caller. For an operator.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[
    str | None,
    typer.Argument(metavar="WHO", help="A hash of the log, a task's id, or the ARN of an IAM user, role or session."),
]
Token = Annotated[
    Path | None,
    typer.Option("--jwt", metavar="FILE", help="A file with a token of theirs; - is standard input."),
]
Subject = Annotated[str | None, typer.Option("--sub", metavar="SUB", help="The claim sub of their tokens.")]
Issuer = Annotated[str | None, typer.Option(metavar="URL", help="The claim iss; else the endpoint's own issuer.")]
Claim = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A further claim of PrincipalClaims; may be repeated.")
]


Agreed = Annotated[bool, typer.Option("--yes", help="Go on without asking.")]
Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for the audit trail and for `caller blocked`.")]
CancelsFirst = Annotated[bool, typer.Option("--cancel", help="Cancel what runs first.")]


def about_a_caller(act: Callable[..., int]) -> Callable[..., None]:
    """Return a command with the options that name a caller; `act` gets them as one, and its own by their names."""

    @wraps(act, assigned=("__name__", "__doc__"))
    def run(
        context: typer.Context,
        name: Name = None,
        *,
        jwt: Token = None,
        sub: Subject = None,
        issuer: Issuer = None,
        claim: Claim = None,
        stack: OfStack = "stepwire",
        **own: Any,
    ) -> None:
        from stepwire_cli.extras.callers.acts import who_of

        raise typer.Exit(act(context.obj, stack, who_of(name, jwt, sub, issuer, claim), **own))

    *shared, _ = inspect.signature(run, follow_wrapped=False).parameters.values()
    own = [one for one in inspect.signature(act).parameters.values() if one.kind is one.KEYWORD_ONLY]
    run.__signature__ = inspect.Signature([*shared, *own])  # pyright: ignore[reportAttributeAccessIssue] - typer reads it
    return run


@caller.command()
@about_a_caller
def whois(settings: Settings, stack: str, who: "Who") -> int:
    """Say by which hash the endpoint knows a caller: that of the log and of the table."""
    from stepwire_cli.extras.callers import acts

    return acts.whois(settings, stack, who)


@caller.command()
@about_a_caller
def show(settings: Settings, stack: str, who: "Who") -> int:
    """Show what a caller has: what runs, questions, places in lines, subscriptions, and a block."""
    from stepwire_cli.extras.callers import acts

    return acts.show(settings, stack, who)


@caller.command()
@about_a_caller
def block(settings: Settings, stack: str, who: "Who", *, reason: Reason = None, yes: Agreed = False) -> int:
    """Refuse everything that a caller asks, within a minute. What runs for them goes on: see cancel-all."""
    from stepwire_cli.extras.callers import acts

    return acts.block(settings, stack, who, reason, is_agreed=yes)


@caller.command()
@about_a_caller
def unblock(settings: Settings, stack: str, who: "Who") -> int:
    """Let a blocked caller in again, within a minute."""
    from stepwire_cli.extras.callers import acts

    return acts.unblock(settings, stack, who)


@caller.command()
def blocked(context: typer.Context, *, stack: OfStack = "stepwire") -> None:
    """List the callers that are blocked: since when, by whom and why."""
    from stepwire_cli.extras.callers import acts

    raise typer.Exit(acts.blocked(context.obj, stack))


@caller.command("cancel-all")
@about_a_caller
def cancel_all(settings: Settings, stack: str, who: "Who", *, yes: Agreed = False) -> int:
    """Cancel all tasks of a caller that have not ended. After an interruption, the same command goes on."""
    from stepwire_cli.extras.callers import acts

    return acts.cancel_all(settings, stack, who, is_agreed=yes)


@caller.command()
@about_a_caller
def export(settings: Settings, stack: str, who: "Who") -> int:
    """Print everything that is held of a caller as JSON lines, with what they sent and received."""
    from stepwire_cli.extras.callers import acts

    return acts.export(settings, stack, who)


@caller.command()
@about_a_caller
def erase(settings: Settings, stack: str, who: "Who", *, cancel: CancelsFirst = False, yes: Agreed = False) -> int:
    """Erase what is held of a caller, and name what remains. After an interruption, the same command goes on."""
    from stepwire_cli.extras.callers import acts

    return acts.erase(settings, stack, who, cancels=cancel, is_agreed=yes)


class Work(StrEnum):
    """What somebody may do about a caller."""

    READ = "read"
    BLOCK = "block"
    CANCEL = "cancel"
    ERASE = "erase"


@caller.command()
def policy(
    context: typer.Context,
    work: Annotated[Work, typer.Argument(help="What it is to permit. Nobody can have both block and erase.")],
    *,
    stack: OfStack = "stepwire",
) -> None:
    """Print the IAM policy of an operator who reads, blocks, cancels or erases."""
    from stepwire_cli.extras.callers import acts

    raise typer.Exit(acts.policy(context.obj, stack, work))


GROUPS: Final = {"caller": caller}
