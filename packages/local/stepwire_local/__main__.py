"""Serve templates on 127.0.0.1 until Ctrl-C or SIGTERM, and beside them their account for operators' commands.

With --services, serve only the AWS services that the templates need, for `sam local`.

Exit code 0 after a requested stop; 2, with a one-line reason, if a template cannot be served.
"""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path

from stepwire_local import LocalStack, LocalStackError, after
from stepwire_local.account.services import SERVED
from stepwire_local.cloudformation.template import declared_parameters
from stepwire_local.console import Console as WebConsole
from stepwire_local.console import Watchers
from stepwire_local.console.sign_in import Token, sign_in_at
from stepwire_local.extras import extras
from stepwire_local.issuer import SHAPES, Client, LocalIssuer
from stepwire_local.lambdas.function_output import FOLDER, kept_in
from stepwire_local.operating import account_of
from stepwire_local.sam_local import write_env_vars
from stepwire_local.stubs.scripts import LIMIT
from stepwire_local.terminal.leaving import leave
from stepwire_local.terminal.screen import Lines, Screen, warnings_on
from stepwire_local.watching import Watching

_TEMPLATES = ("template.yaml",)
_CLIENT_ID = "local"  # at the test issuer
# Who may sign in there, with their groups: a caller, and two others of one group.
_PEOPLE = {"alice": (), "ann": ("finance",), "bob": ("finance",)}
_LOOK_SECONDS = 0.5  # between two looks at the files of the templates
_PORTS = {False: 3000, True: 4566}
_FORMATS = ("text", "json")
# What is not served is shown in this order. A note that matches none of these comes last.
_GRAVEST = ("refuses every request", "so every call is allowed", "is not served", "gets no events", "never fires")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    stopping = threading.Event()

    def stop(number: int, frame: object) -> None:  # noqa: ARG001  # what a signal handler is given
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM, *_closed_terminal()):
        signal.signal(number, stop)
    try:
        _serve(options, _screen(os.environ.get("LOG", "text")), stopping)
    except LocalStackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _closed_terminal() -> Sequence[signal.Signals]:
    """Return the signal of a terminal that is closed, unless `nohup` has it ignored or the system has none."""
    number: signal.Signals | None = getattr(signal, "SIGHUP", None)
    return () if number is None or signal.getsignal(number) is signal.SIG_IGN else (number,)


def _screen(form: str) -> Screen:
    if form not in _FORMATS:
        raise LocalStackError(f"LOG={form} is not a log format: choose one of {', '.join(_FORMATS)}.")
    # Bind the present stdout: later, stdout is redirected to the log file of the functions.
    return Screen(Lines(file=sys.stdout, highlight=False), as_json=form == "json")


def _serve(options: argparse.Namespace, screen: Screen, stopping: threading.Event) -> None:
    port = options.port if options.port is not None else _PORTS[options.services]
    issuer = _issuer(options, port)
    stack = _stack(options, port, issuer)
    console = WebConsole(stack, issuer.token if issuer else None)
    stack.watcher, stack.front, stack.tell = Watchers(screen, console), console.in_front_of, screen.told
    with (
        kept_in(options.logs, "run") as output,
        warnings_on(screen, output),
        issuer.server if issuer else nullcontext(),
        stack,
        nullcontext("") if options.services else account_of(stack) as account,
    ):
        written = stack.write_stubs(every=options.write_stubs == "all") if options.write_stubs else []
        if options.services:
            write_env_vars(stack, options.env_vars)
        screen.console_url = console.url
        words = services_welcome(stack, options) if options.services else welcome(stack, console.url, issuer)
        notes = [
            *operators_lines(stack, account),
            *_section("Written, with made-up answers:", list(map(str, written))),
            *told(stack),
            *not_served(stack, is_verbose=options.verbose),
        ]
        where = (
            f"Logs of the functions: {output.path} (python -m stepwire_local.terminal.logs shows them, or make logs)"
        )
        text = "\n".join([words, "", *notes, where, ""])
        shown = {} if options.services else {"console": console.url, "account": account}
        watching = Watching(stack, screen.noted)  # before anybody learns that it serves, and changes something
        screen.welcome(text, url=stack.url, **shown, logs=str(output.path), not_served=stack.not_served, **facts(stack))
        while not stopping.wait(_LOOK_SECONDS):
            watching.look()


def _stack(options: argparse.Namespace, port: int, issuer: "_Issuer | None") -> LocalStack:
    first, *others = options.template or _TEMPLATES
    return LocalStack(
        first,
        others=others,
        name=options.name,
        port=port,
        parameters={**_parameters(options, Path(first), issuer), **dict(options.parameter)},
        expiry=after(options.expire_after),
        stubs=options.stub,
        stub_seconds=options.stub_seconds,
        longest_wait=options.longest_wait,
        services_at=str(options.host) if options.services else None,
        variables=dict(options.variable),
        make_up_parameters=options.make_up_parameters,
    )


@dataclass(frozen=True)
class _Issuer:
    server: LocalIssuer
    endpoint: str
    parameters: Mapping[str, str]
    token: Token


def _parameters(options: argparse.Namespace, first: Path, issuer: "_Issuer | None") -> Mapping[str, str]:
    """Return the parameters for sign-in, and those of extras whose pages are served here too."""
    declared = declared_parameters(first).keys()
    at = (issuer.server, issuer.endpoint) if issuer else None
    found = [] if options.services else [one.parameters(at) for one in extras()]
    of_extras = {name: value for one in found if one.keys() <= declared for name, value in one.items()}
    return {**of_extras, **(issuer.parameters if issuer else {})}


def _issuer(options: argparse.Namespace, port: int) -> _Issuer | None:
    if options.issuer is None:
        return None
    if options.services or port == 0:
        raise LocalStackError("--issuer needs a known URL: leave out --services, and name a port.")
    endpoint = f"http://127.0.0.1:{port}/mcp"
    first = Path((options.template or _TEMPLATES)[0])
    callbacks = str(declared_parameters(first).get("CallbackUrls", {}).get("Default", "")).split(",")
    clients = {_CLIENT_ID: Client(tuple(filter(None, callbacks)))}
    server = LocalIssuer(SHAPES[options.issuer], clients, people=_PEOPLE)
    parameters = server.shape.parameters(server.url, endpoint)
    return _Issuer(server, endpoint, parameters, sign_in_at(server, endpoint))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m stepwire_local",
        description="Serve SAM templates on 127.0.0.1.",
        epilog="The environment variable LOG=json makes every line of the screen a JSON object.",
    )
    _add_stack(parser)
    parser.add_argument(
        "--expire-after",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="delay between the TTL of an item and its removal (default: %(default)s; in AWS hours or days)",
    )
    parser.add_argument(
        "--logs",
        type=Path,
        default=FOLDER,
        metavar="FOLDER",
        help="folder of the functions' log files (default: %(default)s)",
    )
    parser.add_argument(
        "--issuer",
        choices=sorted(SHAPES),
        metavar="SHAPE",
        help=f"require sign-in, at a test issuer that asks who you are, of a shape: {', '.join(sorted(SHAPES))}",
    )
    _add_stubs(parser)
    parser.add_argument(
        "--longest-wait",
        type=_seconds,
        metavar="SECONDS",
        help="time that a Wait state takes at most (default: as long as it says)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="list what is different from AWS for every application, too"
    )
    _add_services(parser)
    return parser


def _add_stack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--template",
        action="append",
        metavar="FILE",
        help="a template; of several, the first has the API, the others are stacks beside it (default: template.yaml)",
    )
    parser.add_argument(
        "--name",
        default="stepwire",
        help="the name of the first template's stack, by which others mean it (default: %(default)s)",
    )
    parser.add_argument("--port", type=int, help="0 takes any free port (default: 3000; with --services 4566)")
    parser.add_argument(
        "--parameter",
        action="append",
        type=_assignment,
        default=[],
        metavar="KEY=VALUE",
        help="value of a parameter, for each template that declares it; may be repeated",
    )
    parser.add_argument(
        "--variable",
        action="append",
        type=_assignment,
        default=[],
        metavar="KEY=VALUE",
        help="environment variable of each function, besides those of its template; may be repeated",
    )
    parser.add_argument(
        "--make-up-parameters",
        action="store_true",
        help="make up the values of parameters that have no default, and say so",
    )


def _add_stubs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stub",
        action="append",
        type=_assignment,
        default=[],
        metavar="NAME=FILE",
        help="a .json answer or a .py script for what cannot run here: a function, a state, an action such as "
        "sns:publish, or a state machine; may be repeated. Files in the folder `stubs` beside a template count too",
    )
    parser.add_argument(
        "--write-stubs",
        nargs="?",
        choices=("missing", "all"),
        const="missing",
        metavar="missing|all",
        help="write the missing stubs into the folder `stubs` beside each template, with made-up answers; with `all`, "
        "of tasks that run here too. No file is overwritten",
    )
    parser.add_argument(
        "--stub-seconds",
        type=_seconds,
        default=LIMIT,
        metavar="SECONDS",
        help="time that a stub's script may take (default: %(default)g)",
    )


def _add_services(parser: argparse.ArgumentParser) -> None:
    services = parser.add_argument_group("for `sam local`, which serves the API itself")
    services.add_argument(
        "--services", action="store_true", help="serve the AWS services with the template's resources, not the API"
    )
    services.add_argument(
        "--host",
        type=_address,
        default=IPv4Address("127.0.0.1"),
        metavar="ADDRESS",
        help="the IPv4 address of this machine that the services listen on (default: %(default)s)",
    )
    services.add_argument(
        "--env-vars",
        type=Path,
        default=Path(".aws-sam/local-env.json"),
        metavar="FILE",
        help="file to write the functions' environment variables to (default: %(default)s)",
    )


def _address(text: str) -> IPv4Address:
    try:
        address = IPv4Address(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IPv4 address") from None
    if address.is_unspecified:
        raise argparse.ArgumentTypeError(f"{text} is every address of this machine; name the one that containers call")
    return address


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def welcome(stack: LocalStack, console: str, issuer: _Issuer | None = None) -> str:
    """Return the text that the terminal shows when the stack is ready."""
    if "McpEndpoint" not in stack.outputs:  # an application of its own kind: nothing here speaks MCP
        routes = [f"  {route.key}" for route in stack.api().routes]
        return "\n".join(
            [f"Serving {stack.base_url} (Ctrl-C stops; data are not kept)", *routes, f"Console: {console}"]
        )
    snippet = json.dumps({"mcpServers": {"stepwire": {"type": "http", "url": stack.url}}})
    given = f"--client-id {_CLIENT_ID} --callback-port 8080 " if issuer else ""
    signing_in = f"--auth oauth {given}" if issuer else ""
    lines = [
        f"Serving {stack.url} (Ctrl-C stops; data are not kept)",
        f"Console: {console} (start, watch and answer tasks in a browser)",
        *(_issuer_lines(issuer.server) if issuer else ()),
        "",
        "Connect an MCP client:",
        f"  claude mcp add --transport http {given}stepwire {stack.url}",
        f"  {snippet}",
        "",
        "Or from another terminal:",
        f"  {_typed('stepwire')} --url {stack.url} {signing_in}tools",
    ]
    return "\n".join(lines)


def _typed(command: str) -> str:
    """Return how a command that is installed beside this one is typed here."""
    beside = Path(sys.executable).with_name(command)
    if beside.is_file() and beside.is_relative_to(Path.cwd()):
        return str(beside.relative_to(Path.cwd()))
    return command


def _issuer_lines(issuer: LocalIssuer) -> Sequence[str]:
    people = [f"{name} ({', '.join(groups)})" if groups else name for name, groups in issuer.people.items()]
    ways = ", ".join(["a given id", *sorted(issuer.shape.becomes_client_by)])
    return [
        f"Sign-in at the test issuer {issuer.url}, without a password, as {' or '.join(people)}",
        f"  Clients: {ways}. The given id is {_CLIENT_ID}, with the default CallbackUrls of template.yaml.",
    ]


def operators_lines(stack: LocalStack, account: str) -> Sequence[str]:
    """Return what an operator types to use the stack as a deployed one; nothing where its account is not served."""
    keys = f"AWS_DEFAULT_REGION={stack.region} AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local"
    lines = [f"export AWS_ENDPOINT_URL={account} {keys}", f"{_typed('stepwire')} replay {stack.name} --dry-run"]
    return _section("Operate it as a deployed stack, from another terminal:", lines if account else [])


def services_welcome(stack: LocalStack, options: argparse.Namespace) -> str:
    """Return the text that the terminal shows when the services are ready."""
    host: IPv4Address = options.host
    warning = f"WARNING: every client that reaches {host} can use these services and read their data."
    lines = [
        f"Serving {', '.join(SERVED)} on http://{host}:{stack.port} (Ctrl-C stops; data are not kept)",
        *([] if host.is_loopback else [warning]),
        f"Containers reach them at {stack.services_url}; {options.env_vars} passes this URL to the functions.",
        "",
        "In another terminal, after `sam build`:",
        f"  sam local start-api --env-vars {options.env_vars} --disable-authorizer",
        f"  sam local invoke McpFunction -e events/http_post_legacy.json --env-vars {options.env_vars}",
    ]
    return "\n".join(lines)


def told(stack: LocalStack) -> list[str]:
    """Return what to know of the workflows: what cannot run, what stubs answer for, what tools miss."""
    found = stack.coverage
    return [
        *_section("Made up (--parameter gives others):", [f"{name}={value}" for name, value in stack.made_up.items()]),
        *_section("Cannot run here; a stub answers, given as below or as a file in stubs/:", found.missing),
        *_section("Waits for you; a stub answers instead:", found.awaited),
        *_section("Stubs:", found.stubbed),
        *_section("Stubs that answer for nothing:", found.unmatched),
        *_section("Tools:", stack.faults),
    ]


def facts(stack: LocalStack) -> dict[str, object]:
    """Return the same for programs."""
    return {**asdict(stack.coverage), "tools": stack.faults, "made_up": stack.made_up, "differences": stack.differences}


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [title, *(f"  {line}" for line in lines), ""] if lines else []


def not_served(stack: LocalStack, *, is_verbose: bool) -> Sequence[str]:
    """Return what of the templates is not as in AWS, all of it; and on demand what is so for every application."""
    lines = _section("Not served, or not as in AWS:", sorted(stack.not_served, key=_rank))
    if is_verbose:
        return [*lines, *_section("Different from AWS for every application:", stack.differences)]
    return [*lines, *([f"{len(stack.differences)} differences from AWS that every application has: --verbose", ""])]


def _rank(note: str) -> int:
    return next((rank for rank, words in enumerate(_GRAVEST) if words in note), len(_GRAVEST))


if __name__ == "__main__":
    leave(main())
