"""The commands about any caller's tasks, and about the lines of tools with a limit. `app` has the others."""

from typing import Annotated

import typer

queue = typer.Typer(
    help="See and change who waits for a tool with a limit. For an operator.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
OfStack = Annotated[
    str,
    typer.Option("--stack", "--endpoint", metavar="NAME", envvar="STEPWIRE_ENDPOINT", help="The endpoint's stack."),
]
OfPrincipal = Annotated[
    str | None, typer.Option(metavar="HEX", help="The caller's, as in the log: spares a search of the table.")
]


def task(
    context: typer.Context,
    task_id: Annotated[str, typer.Argument(metavar="ID", help="The task's id, or the name or ARN of its execution.")],
    *,
    stack: OfStack = "stepwire",
    principal: OfPrincipal = None,
    lines: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How much of its history to print.")] = 20,
    data: Annotated[bool, typer.Option("--data", help="Print also what its caller sent and received.")] = False,
) -> None:
    """Show any caller's task to an operator.

    Reads the AWS account: where the task's execution is, what it waits for, what happened, and what may be done next.
    """
    from stepwire_cli import looking

    raise typer.Exit(looking.show(context.obj, task_id, stack, principal, lines=lines, with_data=data))


def trace(
    context: typer.Context,
    task_id: Annotated[str, typer.Argument(metavar="ID", help="The task's id, or the name or ARN of its execution.")],
    *,
    stack: OfStack = "stepwire",
    principal: OfPrincipal = None,
    lines: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="How many events of each execution to read.")
    ] = 200,
) -> None:
    """Show an operator when what happened to a task.

    Reads the endpoint's table, the task's executions and what the functions logged, and says where each line was read.
    """
    from stepwire_cli import living

    raise typer.Exit(living.show(context.obj, task_id, stack, principal, lines=lines))


OneTask = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a task that has ended, or the name or ARN of its execution.")
]


def redrive(
    context: typer.Context, task_id: OneTask, *, stack: OfStack = "stepwire", principal: OfPrincipal = None
) -> None:
    """Continue an ended task where its workflow failed.

    For an operator. The workflow goes on as a new task, which is its caller's, and the two name each other.
    Repeating it changes nothing.
    """
    from stepwire_cli import continuing

    raise typer.Exit(continuing.redrive(context.obj, task_id, stack, principal))


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
    from stepwire_cli import queues

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
