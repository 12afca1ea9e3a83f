"""What of the key of one's own is in use: what is encrypted with it."""

from typing import Final

from stepwire_cli.deployment.in_use import Use

USES: Final = (
    Use(
        "what is encrypted with your key",
        "the functions may not use the key: results above 400,000 bytes and waiting retries from "
        "before cannot be read. Tasks, other results and the secret are encrypted anew.",
        "Attach a policy like `UseOfTheKey` to the functions' roles for 32 days, and do not disable the key: see "
        "docs/deploying.md, A key of your own.",
        lambda contents: contents.parameter("KmsKeyArn"),
    ),
)
