"""The option of `wrap` that says who approvers are."""

from typing import Final

from stepwire_wrap.options import Option

WRAP: Final = (
    Option(
        "approvers",
        "claim=NAME:VALUE",
        "People with this sign-in decide where a state waits for a person; also scope=SCOPE, role=ARN.",
    ),
)
