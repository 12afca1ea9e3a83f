"""The commands about any caller's tasks. `app` has the others."""

from typing import Annotated

import typer

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
