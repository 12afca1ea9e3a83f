"""The commands about any caller's tasks. `app` has the others."""

from typing import Annotated

import typer

from stepwire_cli.settings import Settings

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
    lines: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="How much of its timeline to print, the newest.")
    ] = 50,
    logs: Annotated[
        bool, typer.Option("--logs", help="Ask CloudWatch Logs Insights too, which charges by the bytes it scans.")
    ] = False,
    data: Annotated[bool, typer.Option("--data", help="Print also what its caller sent and received.")] = False,
) -> None:
    """Show an operator any caller's task, and its timeline.

    Reads the AWS account: what the task waits for, when what happened to it and where that was read, and what may be
    done next.
    """
    from stepwire_cli.operate import looking

    wanted = looking.Wanted(task_id, stack, principal, lines, with_logs=logs, with_data=data)
    raise typer.Exit(looking.show(context.obj, wanted))


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
    from stepwire_cli.operate import continuing

    raise typer.Exit(continuing.redrive(context.obj, task_id, stack, principal))


def replay(
    context: typer.Context,
    stack: Annotated[str, typer.Argument(metavar="STACK", help="The stack's name.")] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be delivered.")] = False,
    forget_lost: Annotated[bool, typer.Option("--forget-lost", help="Delete what can be delivered no more.")] = False,
) -> None:
    """Deliver again what waits in the dead-letter queue of a stack."""
    from stepwire_cli.operate import replaying

    settings: Settings = context.obj
    options = replaying.Options(stack, dry_run, forget_lost)
    raise typer.Exit(replaying.replay(options, settings.profile, settings.region))
