"""The secret that seals what clients keep for us: read when it is first needed, and once in a function instance."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


@dataclass(frozen=True)
class Secret:
    """A secret in Secrets Manager; called, it gives its value."""

    arn: str
    build_client: "Callable[[], SecretsManagerClient]"

    def __call__(self) -> bytes:
        """Give the secret."""
        return self._value

    @cached_property
    def _value(self) -> bytes:
        return self.build_client().get_secret_value(SecretId=self.arn)["SecretString"].encode()
