"""Serve templates on 127.0.0.1 until Ctrl-C or SIGTERM, and beside them their account for operators' commands.

With --services, serve only the AWS services that the templates need, for `sam local`.
"""

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from stepwire_local import LocalStack, LocalStackError, after
from stepwire_local.activity import heard_by
from stepwire_local.cloudformation.template import declared_outputs, declared_parameters
from stepwire_local.commands.options import PORT, TEMPLATES
from stepwire_local.console import Console as WebConsole
from stepwire_local.console import Watchers
from stepwire_local.console.sign_in import sign_in_at
from stepwire_local.extras import extras
from stepwire_local.issuer import SHAPES, Client, LocalIssuer
from stepwire_local.lambdas.function_output import kept_in
from stepwire_local.operating import account_of
from stepwire_local.sam_local import write_env_vars
from stepwire_local.stack import ENDPOINT
from stepwire_local.terminal.screen import Lines, Screen, warnings_on
from stepwire_local.terminal.welcome import CLIENT_ID, Served, facts, text_of
from stepwire_local.watching import Watching

# Who may sign in at the test issuer, with their groups: a caller, and two others of one group.
_PEOPLE = {"alice": (), "ann": ("finance",), "bob": ("finance",)}
_LOOK_SECONDS = 0.5  # between two looks at the files of the templates
_PORTS = {False: PORT, True: 4566}
_FORMATS = ("text", "json")
_ENDPOINTS_NAME = "stepwire"  # as `stepwire wrap` writes it into templates


def run(options: argparse.Namespace) -> int:
    """Serve until it is to stop; return 0.

    Raises:
        LocalStackError: a template cannot be served.
    """
    stopping = threading.Event()

    def stop(number: int, frame: object) -> None:  # noqa: ARG001  # what a signal handler is given
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM, *_closed_terminal()):
        signal.signal(number, stop)
    _serve(options, _screen(os.environ.get("LOG", "text")), stopping)
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
    console = WebConsole(stack, sign_in_at(issuer, _endpoint(port)) if issuer else None)
    stack.watcher, stack.front, stack.tell = Watchers(screen, console), console.in_front_of, screen.told
    with (
        kept_in(options.logs, "run") as output,
        warnings_on(screen, output),
        issuer or nullcontext(),
        stack,
        nullcontext("") if options.services else account_of(stack) as account,
    ):
        written = stack.write_stubs(every=options.write_stubs == "all") if options.write_stubs else []
        if options.services:
            write_env_vars(stack, options.env_vars)
        screen.console_url = console.url
        env_vars = options.env_vars if options.services else None
        served = Served(stack, console.url, account, issuer, str(options.host), env_vars, written, output.path)
        shown = {} if options.services else {"console": console.url, "account": account}
        watching = Watching(stack, screen.noted)  # before anybody learns that it serves, and changes something
        screen.welcome(
            text_of(served, is_verbose=options.verbose),
            url=stack.url,
            **shown,
            logs=str(output.path),
            not_served=stack.not_served,
            **facts(stack),
        )
        # What the start causes is not shown; at an endpoint of Stepwire, the lines of tasks say what happens.
        with nullcontext() if stack.is_mcp else heard_by(screen.happened):
            while not stopping.wait(_LOOK_SECONDS):
                watching.look()


def _stack(options: argparse.Namespace, port: int, issuer: LocalIssuer | None) -> LocalStack:
    first, *others = options.template or TEMPLATES
    return LocalStack(
        first,
        others=others,
        name=options.name or _name(Path(first)),
        port=port,
        parameters={**_parameters(options, Path(first), issuer, port), **dict(options.parameter)},
        expiry=after(options.expire_after),
        stubs=options.stub,
        stub_seconds=options.stub_seconds,
        longest_wait=options.longest_wait,
        fires_schedules=True,
        services_at=str(options.host) if options.services else None,
        variables=dict(options.variable),
        make_up_parameters=options.make_up_parameters,
    )


def _name(template: Path) -> str:
    """Return what a stack is called that nobody names."""
    if ENDPOINT in declared_outputs(template):
        return _ENDPOINTS_NAME
    return re.sub(r"[^0-9A-Za-z-]+", "-", template.resolve().parent.name).strip("-") or "local"


def _endpoint(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


def _parameters(options: argparse.Namespace, first: Path, issuer: LocalIssuer | None, port: int) -> Mapping[str, str]:
    """Return the parameters for sign-in, and those of extras whose pages are served here too."""
    declared = declared_parameters(first).keys()
    at = (issuer, _endpoint(port)) if issuer else None
    found = [] if options.services else [one.parameters(at) for one in extras()]
    of_extras = {name: value for one in found if one.keys() <= declared for name, value in one.items()}
    return {**of_extras, **(issuer.shape.parameters(issuer.url, _endpoint(port)) if issuer else {})}


def _issuer(options: argparse.Namespace, port: int) -> LocalIssuer | None:
    if options.issuer is None:
        return None
    if options.services or port == 0:
        raise LocalStackError("--issuer needs a known URL: leave out --services, and name a port.")
    first = Path((options.template or TEMPLATES)[0])
    callbacks = str(declared_parameters(first).get("CallbackUrls", {}).get("Default", "")).split(",")
    clients = {CLIENT_ID: Client(tuple(filter(None, callbacks)))}
    return LocalIssuer(SHAPES[options.issuer], clients, people=_PEOPLE)
