"""What of the domain is in use: the address by which clients reach the endpoint."""

from typing import Final

from stepwire_cli.deployment.in_use import Contents, Use


def _address(contents: Contents) -> str:
    return contents.parameter("EndpointUrl") if contents.parameter("CertificateArn") else ""


USES: Final = (
    Use(
        "the address that clients call",
        "it does not lead to the endpoint, whose clients need another one.",
        "Let the address lead to the API some other way, or give clients the new one.",
        _address,
    ),
)
