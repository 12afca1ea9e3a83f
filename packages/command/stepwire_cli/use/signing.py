"""How requests are signed: a bearer token, AWS signatures, or OAuth in the browser. Nothing secret is printed."""

import os
from collections.abc import Generator
from urllib.parse import urlsplit

import httpx2

from stepwire_cli.settings import Auth, Settings
from stepwire_cli.token_files import bearer_of


class Bearer(httpx2.Auth):
    """A token that was given."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        """Add the token."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class SigV4(httpx2.Auth):
    """AWS Signature Version 4 by botocore, for API Gateway (`execute-api`)."""

    requires_request_body = True

    def __init__(self, profile: str | None, region: str | None, url: str) -> None:
        import botocore.session
        from botocore.exceptions import BotoCoreError, NoCredentialsError, NoRegionError

        from stepwire_cli.account.faults import told

        try:
            session = botocore.session.Session(profile=profile)
            found = session.get_credentials()
            configured = session.get_config_variable("region")
        except (BotoCoreError, ValueError) as error:
            raise told(error, "") from None
        if found is None:
            raise told(NoCredentialsError(), "")
        self._credentials = found
        self._region = region or region_in(url) or os.environ.get("AWS_REGION") or configured
        if self._region is None:
            raise told(NoRegionError(), "")

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        """Sign the request."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        from stepwire_cli.account.faults import told
        from stepwire_client import SignInNeeded

        headers = {"host": request.url.netloc.decode(), "content-type": request.headers.get("content-type", "")}
        unsigned = AWSRequest(request.method, str(request.url), headers, request.content)
        try:
            SigV4Auth(self._credentials, "execute-api", self._region).add_auth(unsigned)
        except BotoCoreError as error:  # credentials that have expired and cannot be had anew
            raise SignInNeeded(str(told(error, ""))) from None
        for name in ("Authorization", "X-Amz-Date", "X-Amz-Security-Token"):
            if name in unsigned.headers:
                request.headers[name] = unsigned.headers[name]
        yield request


def region_in(url: str) -> str | None:
    """Return the Region in the name of an endpoint of API Gateway."""
    parts = (urlsplit(url).hostname or "").split(".")
    return parts[2] if len(parts) > 3 and parts[1] == "execute-api" else None  # noqa: PLR2004 - id.execute-api.REGION.


def auth_of(settings: Settings, *, is_interactive: bool) -> httpx2.Auth | None:
    """Return what signs the requests.

    Raises:
        CommandError: the token, the credentials or the Region cannot be had.
    """
    token = bearer_of(settings)
    if settings.auth is Auth.SIGV4:
        return SigV4(settings.profile, settings.region, settings.endpoint())
    if token is not None and settings.auth is Auth.AUTO:
        return Bearer(token)
    if settings.auth is Auth.NONE:
        return None
    from stepwire_cli.use.browser import in_the_browser

    return in_the_browser(settings, is_interactive=is_interactive)
