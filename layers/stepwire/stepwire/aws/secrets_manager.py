"""The secret that authenticates state held by clients (`requestState`), cached per function instance.

A rotation must not invalidate state that was signed with the previous secret. For a while, instances use different
secrets, so state that does not verify with an instance's own secret is checked against the current and previous ones.
"""

import time
from collections.abc import Callable, Iterator
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
            self._values = (_value(self.build_client(), self.arn),)
        return self._values[0]

    def others(self) -> tuple[bytes, ...]:
        """Return the current and the previous secret, read again at most once per `LOOK_INTERVAL`."""
        now = self.monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOK_INTERVAL:
            self._values = tuple(self._read())
            self._looked_at = now
        return self._values

    def _read(self) -> Iterator[bytes]:
        client = self.build_client()
        yield _value(client, self.arn)
        try:
            before = client.get_secret_value(SecretId=self.arn, VersionStage="AWSPREVIOUS")
        except ClientError as error:
            if code_of(error) != "ResourceNotFoundException":
                raise
            return  # it was never rotated
        yield before["SecretString"].encode()


def _value(client: "SecretsManagerClient", arn: str) -> bytes:
    return client.get_secret_value(SecretId=arn)["SecretString"].encode()
