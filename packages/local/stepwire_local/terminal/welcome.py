"""What the terminal shows when a stack is ready: where it is served, how it is used, and what is not as in AWS.

The rule: whoever serves an application that is no endpoint of Stepwire reads no word of MCP.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path

from stepwire_local.account.services import SERVED
from stepwire_local.issuer import LocalIssuer
from stepwire_local.stack import LocalStack
from stepwire_local.stubs.owners import name_of

CLIENT_ID = "local"  # at the test issuer
# What is not served is shown in this order. A note that matches none of these comes last.
_GRAVEST = ("refuses every request", "so every call is allowed", "is not served", "gets no events", "never fires")


@dataclass(frozen=True)
class Served:
    """A stack that is ready, and what is served beside it."""

    stack: LocalStack
    console: str
    """URL of its console."""
    account: str
    """URL of its AWS services; empty: they are not served beside it."""
    issuer: LocalIssuer | None
    host: str
    """Address of the services, where these are served instead of the API."""
    env_vars: Path | None
    """The file for `sam local`; None: the API is served."""
    written: Sequence[Path]
    """New stubs."""
    logs: Path


def text_of(served: Served, *, is_verbose: bool) -> str:
    """Return the whole text."""
    stack = served.stack
    notes = [
        *operators_lines(stack, served.account),
        *_section(f"Schedules ({_typed('stepwire-local')} fire NAME lets one fire now):", _schedules(stack)),
        *_section("Written, with made-up answers:", list(map(str, served.written))),
        *told(stack),
        *not_served(stack, is_verbose=is_verbose),
    ]
    head = _welcome(served) if served.env_vars is None else services_welcome(stack, served.host, served.env_vars)
    return "\n".join([head, "", *notes, f"Logs of the functions: {served.logs} (stepwire-local logs shows them)", ""])


def _welcome(served: Served) -> str:
    stack = served.stack
    if not stack.is_mcp:
        routes = [f"  {route.key}" for route in stack.api().routes]
        routes += [f"  {one.url} calls {name_of(one.settings.function.arn)}" for one in stack.function_urls]
        return "\n".join(
            [f"Serving {stack.base_url} (Ctrl-C stops; data are not kept)", *routes, f"Console: {served.console}"]
        )
    snippet = json.dumps({"mcpServers": {"stepwire": {"type": "http", "url": stack.url}}})
    given = f"--client-id {CLIENT_ID} --callback-port 8080 " if served.issuer else ""
    signing_in = f"--auth oauth {given}" if served.issuer else ""
    lines = [
        f"Serving {stack.url} (Ctrl-C stops; data are not kept)",
        f"Console: {served.console} (start, watch and answer tasks in a browser)",
        *(_issuer_lines(served.issuer) if served.issuer else ()),
        "",
        "Connect an MCP client:",
        f"  claude mcp add --transport http {given}stepwire {stack.url}",
        f"  {snippet}",
        "",
        "Or from another terminal:",
        f"  {_typed('stepwire')} --url {stack.url} {signing_in}tools",
    ]
    return "\n".join(lines)


def _schedules(stack: LocalStack) -> Sequence[str]:
    if stack.is_mcp:
        return []
    return [f"{one.name} {one.text}{'' if one.is_enabled else ', disabled'}" for one in stack.schedules]


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
        f"  Clients: {ways}. The given id is {CLIENT_ID}, with the default CallbackUrls of template.yaml.",
    ]


def operators_lines(stack: LocalStack, account: str) -> Sequence[str]:
    """Return how the account is used from another terminal; nothing where it is not served."""
    if not account:
        return []
    keys = f"AWS_DEFAULT_REGION={stack.region} AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local"
    export = f"export AWS_ENDPOINT_URL={account} {keys}"
    if stack.is_mcp:
        lines = [export, f"{_typed('stepwire')} replay {stack.name} --dry-run"]
        return _section("Operate it as a deployed stack, from another terminal:", lines)
    function = next((name for name, one in stack.functions.items() if not one.settings.not_run), None)
    invoke = [f"{_typed('stepwire-local')} invoke {function} '{{}}'{_at(stack)}"] if function else []
    return _section("Use it from another terminal, with the AWS CLI and SDKs, too:", [export, *invoke])


def _at(stack: LocalStack) -> str:
    return "" if stack.port == 3000 else f" --url {stack.base_url}"  # noqa: PLR2004  # the default of both


def services_welcome(stack: LocalStack, host: str, env_vars: Path) -> str:
    """Return the text for `sam local`, which needs the services alone."""
    warning = f"WARNING: every client that reaches {host} can use these services and read their data."
    function, event = ("McpFunction", " -e events/http_post_legacy.json") if stack.is_mcp else ("FUNCTION", "")
    lines = [
        f"Serving {', '.join(SERVED)} on http://{host}:{stack.port} (Ctrl-C stops; data are not kept)",
        *([] if ip_address(host).is_loopback else [warning]),
        f"Containers reach them at {stack.services_url}; {env_vars} passes this URL to the functions.",
        "",
        "In another terminal, after `sam build`:",
        f"  sam local start-api --env-vars {env_vars} --disable-authorizer",
        f"  sam local invoke {function}{event} --env-vars {env_vars}",
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
