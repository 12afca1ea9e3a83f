"""The commands about one caller. `app` has the others."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stepwire_cli.operator_commands import OfStack

caller = typer.Typer(
    help="Find, stop, export and erase one caller. For an operator.", no_args_is_help=True, rich_markup_mode=None
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


@caller.command()
def whois(
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
) -> None:
    """Say by which hash the endpoint knows a caller: that of the log and of the table."""
    from stepwire_cli import callers

    raise typer.Exit(callers.whois(context.obj, stack, callers.who_of(name, jwt, sub, issuer, claim)))


@caller.command()
def show(
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
) -> None:
    """Show what a caller has: what runs, questions, places in lines, subscriptions, and a block."""
    from stepwire_cli import callers

    raise typer.Exit(callers.show(context.obj, stack, callers.who_of(name, jwt, sub, issuer, claim)))


@caller.command()
def block(
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
) -> None:
    """Refuse everything that a caller asks, within a minute. What runs for them goes on: see cancel-all."""
    from stepwire_cli import callers

    who = callers.who_of(name, jwt, sub, issuer, claim)
    raise typer.Exit(callers.block(context.obj, stack, who, "block"))


@caller.command()
def unblock(
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
) -> None:
    """Let a blocked caller in again, within a minute."""
    from stepwire_cli import callers

    who = callers.who_of(name, jwt, sub, issuer, claim)
    raise typer.Exit(callers.block(context.obj, stack, who, "unblock"))


@caller.command("cancel-all")
def cancel_all(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
    yes: Agreed = False,
) -> None:
    """Cancel all tasks of a caller that have not ended. After an interruption, the same command goes on."""
    from stepwire_cli import callers

    who = callers.who_of(name, jwt, sub, issuer, claim)
    raise typer.Exit(callers.cancel_all(context.obj, stack, who, is_agreed=yes))


@caller.command()
def export(
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
) -> None:
    """Print everything that is held of a caller as JSON lines, with what they sent and received."""
    from stepwire_cli import callers

    raise typer.Exit(callers.export(context.obj, stack, callers.who_of(name, jwt, sub, issuer, claim)))


@caller.command()
def erase(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    name: Name = None,
    *,
    jwt: Token = None,
    sub: Subject = None,
    issuer: Issuer = None,
    claim: Claim = None,
    stack: OfStack = "stepwire",
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel what runs first.")] = False,
    yes: Agreed = False,
) -> None:
    """Erase what is held of a caller, and name what remains. After an interruption, the same command goes on."""
    from stepwire_cli import callers

    who = callers.who_of(name, jwt, sub, issuer, claim)
    raise typer.Exit(callers.erase(context.obj, stack, who, cancels=cancel, is_agreed=yes))


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
    from stepwire_cli import callers

    raise typer.Exit(callers.policy(context.obj, stack, work))
