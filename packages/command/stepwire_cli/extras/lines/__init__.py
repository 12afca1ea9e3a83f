"""The commands about the lines of tools with a limit."""

from typing import Annotated, Final

import typer

from stepwire_cli.operator_commands import OfPrincipal, OfStack

queue = typer.Typer(
    help="See and change who waits for a tool with a limit. For an operator.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Line = Annotated[
    str,
    typer.Argument(
        metavar="LINE", help="The tool's name, pool:NAME of a shared limit, or a line as `list` shows it: line#..."
    ),
]


BeforeFirstCall = Annotated[
    bool,
    typer.Option("--before-first-call", help="Also a line that nobody has used yet, so that its name is not known."),
]


def _end(
    context: typer.Context,
    action: str,
    stack: str,
    name: str = "",
    principal: str | None = None,
    *,
    is_new: bool = False,
) -> None:
    from stepwire_cli.extras.lines import queues

    raise typer.Exit(queues.run(context.obj, action, stack, name, principal, is_new=is_new))


@queue.command("list")
def list_lines(context: typer.Context, *, stack: OfStack = "stepwire") -> None:
    """Show the lines in which somebody waits, or that are paused or drained."""
    _end(context, "list", stack)


@queue.command()
def show(context: typer.Context, line: Line, *, stack: OfStack = "stepwire") -> None:
    """Show a line, with how many calls of each caller wait."""
    _end(context, "show", stack, line)


@queue.command()
def pause(
    context: typer.Context, line: Line, *, stack: OfStack = "stepwire", before_first_call: BeforeFirstCall = False
) -> None:
    """Let nobody begin; calls still join the line."""
    _end(context, "pause", stack, line, is_new=before_first_call)


@queue.command()
def resume(context: typer.Context, line: Line, *, stack: OfStack = "stepwire") -> None:
    """Let calls begin and join again."""
    _end(context, "resume", stack, line)


@queue.command()
def drain(
    context: typer.Context, line: Line, *, stack: OfStack = "stepwire", before_first_call: BeforeFirstCall = False
) -> None:
    """Refuse new calls; those that wait begin in turn."""
    _end(context, "drain", stack, line, is_new=before_first_call)


@queue.command()
def front(
    context: typer.Context,
    task_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a task that waits.")],
    *,
    stack: OfStack = "stepwire",
    principal: OfPrincipal = None,
) -> None:
    """Let a task that waits be the next of its line."""
    _end(context, "front", stack, task_id, principal)


GROUPS: Final = {"queue": queue}
