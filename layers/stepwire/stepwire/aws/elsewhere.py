"""Clients of Step Functions in other accounts and Regions, by roles there. Loaded with the first execution elsewhere.

The rule: credentials stay in the memory of one function instance, and are replaced before they expire.
"""

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from stepwire.aws.clients import step_functions_client_elsewhere, sts_client
from stepwire.aws.settings import required

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_LONGEST_SESSION: Final = 64  # characters, which the names of functions have at most too
_RENEWED_BEFORE: Final = timedelta(minutes=5)
"""The remaining lifetime at which credentials are renewed: longer than any request. The sweep asks at each call."""


class _Kept(Struct, frozen=True):
    """A client, and until when its credentials are good."""

    client: "SFNClient"
    until: datetime


class ClientsElsewhere(Struct, frozen=True):
    """One client for each Region and role."""

    external_id: str
    """What roles may ask for, so that only this endpoint assumes them."""
    assume_role: Callable[[str, str], Any]
    """Takes a role and an external id, and returns STS's answer."""
    build_client: "Callable[[str, Any], SFNClient]"
    """Takes a Region and credentials."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _kept: dict[tuple[str, str], _Kept] = field(default_factory=dict[tuple[str, str], _Kept])
    _lock: Any = field(default_factory=threading.Lock)

    def client(self, region: str, role: str) -> "SFNClient":
        """Return the client of a Region under a role.

        Raises:
            ClientError: the role may not be assumed.
        """
        with self._lock:
            kept = self._kept.get((region, role))
            if kept is None or kept.until - _RENEWED_BEFORE <= self.now():
                credentials = self.assume_role(role, self.external_id)["Credentials"]
                kept = _Kept(self.build_client(region, credentials), credentials["Expiration"])
                self._kept[region, role] = kept
            return kept.client


def assumed(sts: Any, role: str, external_id: str, function: str = "") -> Any:
    """Return STS's answer to the wish to assume a role, in a session that is named after the function.

    So CloudTrail there tells endpoints and their functions apart. The call itself names the execution, and with it the
    task and its tool (`stepwire task`).
    """
    session = function[-_LONGEST_SESSION:] or "stepwire"
    return sts.assume_role(RoleArn=role, RoleSessionName=session, ExternalId=external_id)


def client_elsewhere(region: str, role: str) -> "SFNClient":
    """Return the client of a Region under a role."""
    return _clients().client(region, role)


@cache
def _clients() -> ClientsElsewhere:
    sts = cache(sts_client)
    return ClientsElsewhere(
        required(os.environ, "EXTERNAL_ID"),
        lambda role, external_id: assumed(sts(), role, external_id, os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")),
        step_functions_client_elsewhere,
    )
