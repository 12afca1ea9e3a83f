"""The secret that seals what clients keep for us: read when it is first needed, and kept in a function instance.

The rule: a rotation breaks nothing that the secret before it sealed. For a while some instances have the one and some
the other, so what does not fit the own secret is held against both.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

LOOK_INTERVAL: Final = 60.0
"""Seconds between two looks for a rotation: anybody can send what no secret of ours has sealed."""


@dataclass
class Secret:
    """A secret in Secrets Manager; called, it gives its value."""

    arn: str
    build_client: "Callable[[], SecretsManagerClient]"
    monotonic: Callable[[], float] = time.monotonic
    _values: tuple[bytes, ...] = field(default=(), init=False)
    """The current one first."""
    _looked_at: float | None = field(default=None, init=False)

    def __call__(self) -> bytes:
        """Return the secret."""
        if not self._values:
            self._values = (_value(self.build_client(), self.arn),)
        return self._values[0]

    def others(self) -> tuple[bytes, ...]:
        """Return the secrets that may have sealed what this one has not: those before and after a rotation."""
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
            if error.response.get("Error", {}).get("Code") != "ResourceNotFoundException":
                raise
            return  # it was never rotated
        yield before["SecretString"].encode()


def _value(client: "SecretsManagerClient", arn: str) -> bytes:
    return client.get_secret_value(SecretId=arn)["SecretString"].encode()
