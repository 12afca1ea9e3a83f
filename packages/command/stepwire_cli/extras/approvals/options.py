"""The option of `stepwire wrap` that says who approvers are."""

from typing import Annotated, Final

import typer

WRAP: Final = {
    "approvers": Annotated[
        list[str] | None,
        typer.Option(
            metavar="claim=NAME:VALUE",
            help="People with this sign-in decide where a state waits for a person; also scope=SCOPE, role=ARN.",
        ),
    ]
}
