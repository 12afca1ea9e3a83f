"""The AWS of a profile and a Region, and that of other Regions and accounts, by a role there."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.faults import told
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.settings import Settings

_SESSION_NAME: Final = "stepwire-command"
# Throttled calls are paced here; botocore tries again only if the network fails.
_CONFIG: Final[Mapping[str, Any]] = {"connect_timeout": 5, "retries": {"mode": "standard", "total_max_attempts": 2}}
_LONGEST_READ: Final = 30  # seconds


def session_of(profile: str | None, region: str | None) -> Any:
    """Return the session of boto3 for a profile and a Region.

    Raises:
        AccountError: there is no such profile, or the AWS CLI's files cannot be read.
    """
    import boto3  # noqa: PLC0415 - other commands do without

    try:
        # boto3 knows only AWS_DEFAULT_REGION; the AWS CLI reads both.
        return boto3.Session(profile_name=profile, region_name=region or os.environ.get("AWS_REGION") or None)
    except (BotoCoreError, ValueError) as error:
        raise told(error, "") from None


@dataclass(frozen=True)
class Clients:
    """Builds clients that give up soon if the network fails."""

    session: Any
    longest_read: float = _LONGEST_READ
    """How many seconds an answer may take."""

    def client(self, service: str, **more: Any) -> Any:
        """Return a client of a service, as a session of boto3 does."""
        from botocore.config import Config  # noqa: PLC0415 - other commands do without

        return self.session.client(service, config=Config(read_timeout=self.longest_read, **_CONFIG), **more)


def connected(
    profile: str | None, region: str | None, external_id: Callable[[Calls], str | None] = lambda _calls: None
) -> Calls:
    """Return the AWS of a profile and a Region.

    Raises:
        AccountError: there is no such profile.
    """
    return _Sessions(session_of(profile, region), external_id).calls()


def endpoint_of(settings: Settings, stack: str) -> Endpoint:
    """Return an endpoint, whose calls may reach the executions of other accounts and Regions."""
    calls = connected(settings.profile, settings.region, lambda own: Endpoint(own, stack).output("ExternalId") or None)
    return Endpoint(calls, stack)


@dataclass(frozen=True)
class _Sessions:
    session: Any
    external_id: Callable[[Calls], str | None]

    def calls(self) -> Calls:
        """Return the session's own AWS."""
        return Calls(
            self._client, Pacer(time.monotonic, time.sleep), self.session.region_name, elsewhere=self._elsewhere
        )

    def _client(self, service: str, **more: Any) -> Any:
        return Clients(self.session).client(service, **more)

    def _elsewhere(self, region: str, role: str | None) -> Calls:
        keys = {} if role is None else self._assumed(role)
        return Calls(
            lambda service: self._client(service, region_name=region, **keys),
            Pacer(time.monotonic, time.sleep),
            region,
            elsewhere=self._elsewhere,
        )

    def _assumed(self, role: str) -> dict[str, str]:
        """Return the credentials of a role, as a client takes them."""
        calls = self.calls()
        external_id = self.external_id(calls)
        given = {} if external_id is None else {"ExternalId": external_id}
        answer = calls.call("sts", "AssumeRole", RoleArn=role, RoleSessionName=_SESSION_NAME, **given)
        found = answer["Credentials"]
        return {
            "aws_access_key_id": found["AccessKeyId"],
            "aws_secret_access_key": found["SecretAccessKey"],
            "aws_session_token": found["SessionToken"],
        }
