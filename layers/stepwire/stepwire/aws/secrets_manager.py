"""The secret that authenticates state held by clients (`requestState`), cached per function instance.

A rotation must not invalidate state that was signed with the previous secret. For a while, instances use different
secrets, so state that does not verify with an instance's own secret is checked against the current and previous ones.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from stepwire.aws.clients import code_of

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

LOOK_INTERVAL: Final = 60.0
"""Seconds between two reads after a rotation: anybody can send state that verifies with no secret."""


class Secret(Struct):
    """A secret in Secrets Manager. Calling it returns its value."""

    arn: str
    build_client: "Callable[[], SecretsManagerClient]"
    monotonic: Callable[[], float] = time.monotonic
    _values: tuple[bytes, ...] = ()
    """The current one first."""
    _looked_at: float | None = None

    def __call__(self) -> bytes:
        """Return the secret."""
        if not self._values:
            self._values = (self._read(self.build_client(), "AWSCURRENT"),)
        return self._values[0]

    def others(self) -> tuple[bytes, ...]:
        """Return the current and the previous secret, read again at most once per `LOOK_INTERVAL`."""
        now = self.monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOK_INTERVAL:
            client = self.build_client()
            values = [self._read(client, "AWSCURRENT")]
            try:
                values.append(self._read(client, "AWSPREVIOUS"))
            except ClientError as error:
                if code_of(error) != "ResourceNotFoundException":  # it was never rotated
                    raise
            self._values, self._looked_at = tuple(values), now
        return self._values

    def _read(self, client: "SecretsManagerClient", stage: str) -> bytes:
        return client.get_secret_value(SecretId=self.arn, VersionStage=stage)["SecretString"].encode()
