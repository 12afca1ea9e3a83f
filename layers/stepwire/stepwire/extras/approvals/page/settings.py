"""The settings of function approvals, and of what makes its links. Function mcp loads none of this."""

from collections.abc import Mapping

from msgspec import Struct

from stepwire.aws.gateway import ISSUER_AND_SUBJECT, SignIn
from stepwire.aws.settings import SettingsError, read_identity, read_list, required
from stepwire.catalog.access import Access
from stepwire.extras.approvals.page.links import LinkMode, origin_of
from stepwire.extras.approvals.page.signing_in import Client


class ApprovalSettings(Struct, frozen=True):
    """The settings of function approvals."""

    table_name: str
    secret_arn: str
    mode: LinkMode
    resource: str
    """URL of the endpoint."""
    brand: str
    """What the endpoint is called."""
    sign_in: SignIn
    access: Access
    client: Client | None
    """What the page is to the issuer; None: nobody signs in."""


def read_approval_settings(environment: Mapping[str, str]) -> ApprovalSettings:
    """Read the settings of function approvals.

    Raises:
        SettingsError: one is missing or wrong.
    """
    mode, resource = read_link_mode(environment), required(environment, "RESOURCE")
    prefix = f"{resource}/" if required(environment, "AUTHORIZER") == "cognito" else ""
    claims = read_list(environment, "PRINCIPAL_CLAIMS") or ISSUER_AND_SUBJECT
    return ApprovalSettings(
        table_name=required(environment, "TABLE_NAME"),
        secret_arn=required(environment, "SECRET_ARN"),
        mode=mode,
        resource=resource,
        brand=read_identity(environment).title,
        sign_in=SignIn(required(environment, "PRINCIPAL_SALT"), claims=claims),
        access=Access(required=read_list(environment, "REQUIRED_SCOPE"), prefix=prefix),
        client=_client(environment, resource, prefix) if mode is LinkMode.SIGN_IN else None,
    )


def _client(environment: Mapping[str, str], resource: str, prefix: str) -> Client:
    scopes = (*read_list(environment, "REQUIRED_SCOPE"), *read_list(environment, "OFFERED_SCOPES"))
    return Client(
        client_id=required(environment, "CLIENT_ID"),
        issuer=required(environment, "ISSUER"),
        audiences=frozenset(read_list(environment, "AUDIENCES")),
        resource=resource,
        scopes=tuple(prefix + scope for scope in scopes),
        scope_prefix=prefix,
        origin=origin_of(resource),
    )


def read_link_mode(environment: Mapping[str, str]) -> LinkMode:
    """Read what links for approvers are worth.

    Raises:
        SettingsError: the variable is wrong.
    """
    try:
        return LinkMode(environment.get("APPROVAL_LINKS", LinkMode.OFF.value))
    except ValueError:
        raise SettingsError("The environment variable APPROVAL_LINKS must be off, link or sign-in.") from None
