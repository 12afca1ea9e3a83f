"""The commands and their options, and nothing else. Each imports what it does when it is called."""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.extras import groups, with_options_of_extras
from stepwire_cli.helping import BUILD, DEPLOY, OPERATE, USE, AtServer, Groups, InAccount, second_screen
from stepwire_cli.operator_commands import redrive, replay, task
from stepwire_cli.server_commands import publish, sign_in
from stepwire_cli.settings import TOKEN, URL, Auth, Settings
from stepwire_wrap.exits import WrapError

# A paragraph that begins with \b keeps its lines.
_CALL_EPILOG: Final = """\b
Examples:
  stepwire call approve_refund order_id=A-1042 amount=249
  stepwire call get_quote closed:='["swift"]'
  stepwire call profile_dataset csv=@data.csv --detach"""
_DEPLOY_EPILOG: Final = """\b
Examples:
  stepwire deploy Authorizer=cognito
  stepwire deploy trial Authorizer=none DeletionProtection=false
  stepwire deploy Authorizer=cognito --with events,user_pool
  stepwire deploy --parameters               the core's parameters
  stepwire deploy --parameters events        those of an extra"""
_ANSWER_EPILOG: Final = """\b
Examples:
  stepwire tasks answer ID                 at the terminal
  stepwire tasks answer ID approve=yes     with values
  stepwire tasks answer ID --decline"""

_STACK: Final = "stepwire"

app = typer.Typer(
    name="stepwire",
    cls=Groups,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
tasks = typer.Typer(help="List, show, watch, answer and cancel tasks.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(tasks, name="tasks", rich_help_panel=USE)
app.add_typer(sign_in, name="sign-in", rich_help_panel=DEPLOY)
app.add_typer(publish, name="publish", rich_help_panel=DEPLOY)
for _name, _group in groups():
    for _command in _group.registered_commands:
        _command.cls = InAccount
    app.add_typer(_group, name=_name, rich_help_panel=OPERATE)
new = typer.Typer(help="Begin a project: a tool, or an endpoint.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(new, name="new", rich_help_panel=BUILD)

TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]
Pairs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="KEY=VALUE, KEY:=JSON, or KEY=@FILE for what a file contains."),
]
EndpointName = Annotated[
    str, typer.Option(metavar="NAME", envvar="STEPWIRE_ENDPOINT", help="The endpoint's stack.", show_default=True)
]


def _names_of_tools(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tools whose names begin so, for a shell that completes a line."""
    from stepwire_cli.use import running

    options = context.find_root().params
    settings = Settings(options["url"], options["token"], options["token_file"], options["auth"])
    return [name for name in running.names_of_tools(settings) if name.startswith(incomplete)]


class Decides(StrEnum):
    """Who decides where a state waits for a person."""

    AS_NOW = "as-now"
    CALLER = "caller"


class StackTool(StrEnum):
    """What makes the stack of a state machine."""

    SAM = "sam"
    CDK = "cdk"
    TERRAFORM = "terraform"
    SERVERLESS = "serverless"


def _print_version(*, is_asked: bool) -> None:
    if is_asked:
        from stepwire_cli.settings import version

        typer.echo(version())
        raise typer.Exit


@app.callback()
def common(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    *,
    url: Annotated[str | None, typer.Option(envvar=URL)] = None,
    token: Annotated[str | None, typer.Option(envvar=TOKEN)] = None,
    token_file: Annotated[Path | None, typer.Option()] = None,
    auth: Annotated[Auth, typer.Option()] = Auth.AUTO,
    profile: Annotated[str | None, typer.Option()] = None,
    region: Annotated[str | None, typer.Option()] = None,
    client_id: Annotated[str | None, typer.Option()] = None,
    callback_port: Annotated[int, typer.Option()] = 0,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    version: Annotated[  # noqa: ARG001 - the callback prints it
        bool, typer.Option("--version", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Keep what all commands need; `helping` says what each option is."""
    context.obj = Settings(url, token, token_file, auth, profile, region, client_id, callback_port, as_json)


@app.command("help", hidden=True)
def show_help(words: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...")] = None) -> None:
    """Print what all commands share, or the help of one."""
    if words:
        _end(run([*words, "--help"]))
    for line in second_screen():
        typer.echo(line)


@app.command("tools", cls=AtServer, rich_help_panel=USE)
def list_tools(context: typer.Context) -> None:
    """List the tools of the server."""
    from stepwire_cli.use import running

    _end(running.list_tools(context.obj))


@app.command(cls=AtServer, rich_help_panel=USE, epilog=_CALL_EPILOG)
def call(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.", autocompletion=_names_of_tools)],
    arguments: Pairs = None,
    *,
    input_file: Annotated[
        str | None, typer.Option("--input", help="A file with all arguments as JSON; - reads stdin.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="An idempotency key: the same key finds the same task.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the task's id, and leave it running.")] = False,
) -> None:
    """Call a tool, follow its task, and print the result."""
    from stepwire_cli.use import running

    _end(running.call(context.obj, tool, running.Given(tuple(arguments or ()), input_file), key, detach=detach))


@tasks.command("list", cls=AtServer)
def list_tasks(context: typer.Context) -> None:
    """List your tasks, newest first."""
    from stepwire_cli.use import running

    _end(running.list_tasks(context.obj))


@tasks.command(cls=AtServer)
def show(context: typer.Context, task_id: TaskId) -> None:
    """Show a task: its status, its questions, its result."""
    from stepwire_cli.use import running

    _end(running.show(context.obj, task_id))


@tasks.command(cls=AtServer)
def watch(context: typer.Context, task_id: TaskId) -> None:
    """Follow a task, answer its questions, and print its result."""
    from stepwire_cli.use import running

    _end(running.watch(context.obj, task_id))


@tasks.command(cls=AtServer, epilog=_ANSWER_EPILOG)
def answer(
    context: typer.Context,
    task_id: TaskId,
    arguments: Pairs = None,
    *,
    decline: Annotated[bool, typer.Option("--decline", help="Say no.")] = False,
) -> None:
    """Answer what a task asks, with values or at the terminal."""
    from stepwire_cli.use import running

    _end(running.answer(context.obj, task_id, tuple(arguments or ()), decline=decline))


@tasks.command(cls=AtServer)
def cancel(context: typer.Context, task_id: TaskId) -> None:
    """Cancel a task."""
    from stepwire_cli.use import running

    _end(running.cancel(context.obj, task_id))


@app.command(cls=InAccount, rich_help_panel=BUILD)
@with_options_of_extras("decides")
def wrap(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME_OR_ARN|PATH]...",
            help="State machines of an account; or definitions, SAM templates and folders of them, without an account.",
        ),
    ] = None,
    *,
    tag: Annotated[str | None, typer.Option(metavar="KEY=VALUE", help="All state machines with this tag.")] = None,
    stack: Annotated[str | None, typer.Option(metavar="NAME", help="All state machines of this stack.")] = None,
    endpoint: EndpointName = "stepwire",
    output: Annotated[Path, typer.Option(help="Where the manifests are.")] = Path("tools"),
    snippet: Annotated[
        StackTool | None, typer.Option(help="Print the lines that register the tools in your stack.")
    ] = None,
    samples: Annotated[int, typer.Option(metavar="N", min=0, max=100, help="How many past runs to read of each.")] = 20,
    role: Annotated[
        str, typer.Option(metavar="ARN", help="The role that reaches state machines of another account or Region.")
    ] = "",
    decides: Annotated[
        Decides | None, typer.Option(help="Who else decides there: whoever does now, or the caller.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put what --snippet prints into your template and definition, after a look.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Tag the state machines and register the tools.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what --apply would do.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Replace or write without asking.")] = False,
    **own: list[str] | None,
) -> None:
    """Write manifests of state machines, and register them.

    A definition, a SAM template or a folder is read without an account, with the code of its functions.
    """
    from stepwire_cli.build import wrapping

    chosen = None if snippet is None else snippet.value
    given = wrapping.Given(
        names or (), tag, stack, endpoint, output, chosen, samples, role, apply, dry_run, yes,
        None if decides is None else decides.value, [one for each in own.values() for one in each or ()], write,
    )  # fmt: skip
    _end(wrapping.wrap(context.obj, given))


@app.command(cls=InAccount, rich_help_panel=BUILD)
def doctor(
    context: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[PATH]", help="Manifests, definitions, SAM templates: a file, or a folder of them."),
    ] = None,
    *,
    endpoint: Annotated[
        str | None, typer.Option(metavar="NAME", help="The endpoint's stack: check what is registered with it.")
    ] = None,
) -> None:
    """Say what is wrong with manifests, or would go wrong.

    Checks files without an account, or what is registered with an endpoint.
    """
    if (path is None) is (endpoint is None):
        raise CommandError("Check what? Write a PATH of manifests, or --endpoint NAME for what is registered.")
    if endpoint is not None:
        from stepwire_cli.build import wrapping

        _end(wrapping.doctor(context.obj, endpoint))
    elif path is not None:
        from stepwire_cli.screen import Screen
        from stepwire_wrap import examining

        _end(examining.doctor(path, Screen(as_json=context.obj.as_json)))


StackName = Annotated[str, typer.Argument(metavar="STACK", help="The stack's name.")]
TemplateParameters = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Parameters of the template.")
]
ReleaseFile = Annotated[
    Path | None, typer.Option("--release", metavar="FILE", help="Another release than this command's own.")
]
ReleaseDigest = Annotated[
    str | None, typer.Option("--sha256", metavar="DIGEST", help="Take no release with another SHA-256.")
]
ArtifactBucket = Annotated[
    str | None, typer.Option(metavar="NAME", help="A bucket of yours for the files; else one is made.")
]
ChosenExtras = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="EXTRAS",
        help="Have these extras: events,lines, or none, or all. Else a new stack has all; others stay as they are.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be made, opened, asked, and cost.")]
Offline = Annotated[bool, typer.Option("--offline", help="With --dry-run: of a new stack, without reading AWS.")]
SaysYes = Annotated[bool, typer.Option("--yes", help="Go on without asking.")]
EvenInUse = Annotated[bool, typer.Option("--even-in-use", help="Remove an extra also while it is in use.")]


@app.command(cls=InAccount, rich_help_panel=DEPLOY, epilog=_DEPLOY_EPILOG)
def deploy(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    stack: StackName = _STACK,
    parameters: TemplateParameters = None,
    *,
    release: ReleaseFile = None,
    sha256: ReleaseDigest = None,
    extras: ChosenExtras = None,
    bucket: ArtifactBucket = None,
    dry_run: DryRun = False,
    offline: Offline = False,
    yes: SaysYes = False,
    even_in_use: EvenInUse = False,
    list_parameters: Annotated[
        bool,
        typer.Option("--parameters", help="List the parameters, or explain those that you name; deploy nothing."),
    ] = False,
    template: Annotated[
        bool, typer.Option("--template", help="Print the template for another tool, and deploy nothing.")
    ] = False,
) -> None:
    """Deploy an endpoint to your AWS account, or change one.

    Needs no clone, no SAM CLI and no Docker: it uploads this version's files and lets CloudFormation do the rest, after
    you have seen what would change.
    """
    from stepwire_cli.deployment import deploying
    from stepwire_cli.deployment.release import Source

    source = Source(release, sha256, extras)
    if list_parameters:
        words = [stack, *(parameters or ())] if stack != _STACK else []
        _end(deploying.list_parameters(context.obj, source, words))
    if template:
        _end(deploying.print_template(context.obj, source))
    name, pairs = _name_and_pairs(stack, parameters)
    given = deploying.Given(name, pairs, source, bucket, yes, even_in_use, is_dry_run=dry_run, is_offline=offline)
    _end(deploying.deploy(context.obj, given))


@app.command(cls=InAccount, rich_help_panel=DEPLOY)
def upgrade(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    stack: StackName = _STACK,
    parameters: TemplateParameters = None,
    *,
    release: ReleaseFile = None,
    sha256: ReleaseDigest = None,
    extras: ChosenExtras = None,
    bucket: ArtifactBucket = None,
    back: Annotated[bool, typer.Option("--back", help="Take an older version than the stack has.")] = False,
    dry_run: DryRun = False,
    yes: SaysYes = False,
    even_in_use: EvenInUse = False,
) -> None:
    """Bring an endpoint to this command's version.

    Its parameters and extras stay, unless you name them.
    """
    from stepwire_cli.deployment import deploying
    from stepwire_cli.deployment.release import Source

    name, pairs = _name_and_pairs(stack, parameters)
    source = Source(release, sha256, extras)
    given = deploying.Given(
        name, pairs, source, bucket, yes, even_in_use, is_upgrade=True, goes_back=back, is_dry_run=dry_run
    )
    _end(deploying.deploy(context.obj, given))


@app.command(cls=InAccount, rich_help_panel=DEPLOY)
def status(
    context: typer.Context,
    stack: StackName = _STACK,
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Follow a change to its end.")] = False,
) -> None:
    """Say how an endpoint's stack stands, and what to do about it."""
    from stepwire_cli.deployment import deploying

    _end(deploying.status(context.obj, stack, watches=watch))


@app.command(cls=InAccount, rich_help_panel=DEPLOY)
def destroy(
    context: typer.Context,
    stack: StackName = _STACK,
    *,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Delete the tasks, the large results and the users, too.")
    ] = False,
    yes: SaysYes = False,
) -> None:
    """Remove an endpoint. It names what is lost, and leaves the tasks unless told."""
    from stepwire_cli.deployment import deploying

    _end(deploying.destroy(context.obj, stack, with_data=with_data, says_yes=yes))


def _name_and_pairs(stack: str, parameters: list[str] | None) -> tuple[str, list[str]]:
    """Return the stack's name and the parameters: the name may be left out before a parameter."""
    return (_STACK, [stack, *(parameters or ())]) if "=" in stack else (stack, parameters or [])


for act in (task, redrive, replay):
    app.command(cls=InAccount, rich_help_panel=OPERATE)(act)


ProjectFolder = Annotated[Path | None, typer.Option(help="The folder to write to; else one of that name.")]
TakesDefaults = Annotated[bool, typer.Option("--yes", help="Take the defaults without asking.")]


@new.command("tool")
def new_tool(
    context: typer.Context,
    *,
    name: Annotated[str | None, typer.Option(help="The project's name; the tool has it with _ for -.")] = None,
    description: Annotated[str | None, typer.Option(help="What the tool does, for the model.")] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="NAME", envvar="STEPWIRE_ENDPOINT", help="The stack of the endpoint.")
    ] = None,
    output: ProjectFolder = None,
    yes: TakesDefaults = False,
) -> None:
    """Make a stack with a workflow and its tool.

    It registers itself with a deployed endpoint. If --output names a folder with a template.yaml, the tool is added to
    that.
    """
    from stepwire_cli.build import creating

    _end(creating.tool(context.obj, creating.Given(name, output, yes), description, endpoint))


@new.command("endpoint")
def new_endpoint(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    *,
    name: Annotated[str | None, typer.Option(help="The stack's name.")] = None,
    authorizer: Annotated[str | None, typer.Option(help="Who may call: cognito, jwt, iam or none.")] = None,
    release: ReleaseFile = None,
    sha256: ReleaseDigest = None,
    extras: Annotated[
        str | None, typer.Option("--with", metavar="EXTRAS", help="With these extras, or none. Else with all.")
    ] = None,
    output: ProjectFolder = None,
    yes: TakesDefaults = False,
) -> None:
    """Make a project with an endpoint of this version.

    It is for those who keep what they deploy in git; `stepwire deploy` needs no project.
    """
    from stepwire_cli.build import creating
    from stepwire_cli.deployment.release import Source

    given = creating.Given(name, output, yes)
    _end(creating.endpoint(context.obj, given, authorizer, Source(release, sha256, extras)))


def _end(code: int) -> None:
    raise typer.Exit(code)


@cache
def _built() -> Any:
    """Return the tree of all commands, which takes longer to build than most commands take to run."""
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Run a command line, and return its exit code."""
    try:
        _built()(arguments, prog_name="stepwire")
    except (CommandError, WrapError) as error:
        typer.echo(f"error: {error}", err=True)
        return error.code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else Exit.DONE if end.code is None else Exit.FAILED
    return Exit.DONE
