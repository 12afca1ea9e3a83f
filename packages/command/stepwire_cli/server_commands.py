"""The commands that say how a server is reached: its sign-in for hosts, and what publishes it. `app` has the others.

Each imports what it does when it is called.
"""

from typing import Annotated

import typer

from stepwire_cli.helping import AtServer, InAccount, sharing
from stepwire_cli.publish.agentcore import Grant

sign_in = typer.Typer(
    help="Check a server's sign-in, and configure hosts for it.", no_args_is_help=True, rich_markup_mode=None
)
publish = typer.Typer(
    help="Print what a gateway or a registry takes of a server.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ServerUrl = Annotated[str | None, typer.Argument(metavar="[URL]", help="The server's endpoint; else that of --url.")]


@sign_in.command("check", cls=sharing("url", "json"))
def check_sign_in(context: typer.Context, url: ServerUrl = None) -> None:
    """Say what a server and its issuer announce, and what fails."""
    from stepwire_cli.sign_in import commands

    raise typer.Exit(commands.check(context.obj, url))


@sign_in.command("clients", cls=sharing("url", "client_id", "callback_port", "json"))
def configure_clients(
    context: typer.Context,
    url: ServerUrl = None,
    *,
    host: Annotated[str | None, typer.Option(metavar="NAME", help="Only this host, such as codex.")] = None,
) -> None:
    """Print the configuration of each host, and its callbacks.

    --client-id ID writes an id into them.
    """
    from stepwire_cli.sign_in import commands

    raise typer.Exit(commands.clients(context.obj, url, host))


@sign_in.command("set-up", cls=InAccount)
def set_up_sign_in(
    context: typer.Context,
    stack: Annotated[str, typer.Argument(metavar="STACK", help="The endpoint's stack, with Authorizer=cognito.")],
    *,
    document: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Accept this document too, such as ChatGPT's.")
    ] = None,
    exactly: Annotated[bool, typer.Option("--exactly", help="Remove documents that are neither known nor named.")] = (
        False
    ),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> None:
    """Let hosts sign in to the user pool of a stack.

    The pool accepts their metadata documents. Repeating it changes nothing.
    """
    from stepwire_cli.account import sign_in as account

    raise typer.Exit(account.set_up(context.obj, account.Wanted(stack, document or (), exactly, dry_run)))


PublishedName = Annotated[
    str | None,
    typer.Option(metavar="NAMESPACE/NAME", help="Its name; else one in the name space of the URL's host."),
]
PublishedTitle = Annotated[str | None, typer.Option(help="Its title, for people; else the server's own.")]
PublishedDescription = Annotated[
    str | None, typer.Option(help="What it does, in at most 100 characters; else the server's own words.")
]
PublishedVersion = Annotated[
    str | None, typer.Option(help="Its version, which a registry takes once; else the server's own.")
]


@publish.command("agentcore-gateway", cls=sharing("url", "region"))
def agentcore_gateway(
    context: typer.Context,
    url: ServerUrl = None,
    *,
    gateway_id: Annotated[str, typer.Option("--gateway", metavar="ID", help="The Gateway.")] = "GATEWAY_ID",
    provider: Annotated[
        str, typer.Option(metavar="ARN", help="The OAuth credential provider, where the server takes tokens.")
    ] = "PROVIDER_ARN",
    grant: Annotated[
        Grant, typer.Option(help="How the Gateway gets its token, and so whose the tasks are.")
    ] = Grant.EXCHANGE,
    name: Annotated[str, typer.Option(help="The target's name, which begins the names of its tools.")] = "stepwire",
    scope: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A scope to ask for; else all that the server lists.")
    ] = None,
) -> None:
    """Print the input of create-gateway-target.

    Reads how the server asks for a sign-in, and sends no token. --region is the endpoint's, for signatures.
    """
    from stepwire_cli.publish import publishing

    wanted = publishing.Wanted(gateway_id, name, provider, grant, tuple(scope or ()))
    raise typer.Exit(publishing.target(context.obj, url, wanted))


@publish.command("agent-registry", cls=AtServer)
def agent_registry(
    context: typer.Context,
    url: ServerUrl = None,
    *,
    registry: Annotated[str, typer.Option(metavar="ID", help="The registry, its id or ARN.")] = "REGISTRY_ID",
    name: PublishedName = None,
    title: PublishedTitle = None,
    description: PublishedDescription = None,
    server_version: PublishedVersion = None,
) -> None:
    """Print the input of create-registry-record.

    Signs in as `stepwire tools` does, and writes down the tools that it sees.
    """
    from stepwire_cli.publish import publishing

    said = publishing.Said(name, title, description, server_version)
    raise typer.Exit(publishing.record(context.obj, url, said, registry))


@publish.command("mcp-registry", cls=AtServer)
def mcp_registry(
    context: typer.Context,
    url: ServerUrl = None,
    *,
    name: PublishedName = None,
    title: PublishedTitle = None,
    description: PublishedDescription = None,
    server_version: PublishedVersion = None,
) -> None:
    """Print server.json for the MCP registry.

    Signs in as `stepwire tools` does. No secret is written.
    """
    from stepwire_cli.publish import publishing

    raise typer.Exit(
        publishing.server_json(context.obj, url, publishing.Said(name, title, description, server_version))
    )
