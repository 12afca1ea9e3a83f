"""The secret that seals what clients keep for us: nobody asks Secrets Manager before, or twice."""

from dataclasses import dataclass, field
from typing import Any, cast

from mypy_boto3_secretsmanager import SecretsManagerClient

from stepwire.aws.secrets_manager import Secret

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:seal"


@dataclass
class SecretsManager:
    """Secrets Manager with one secret; says what it was asked."""

    value: str = "grüße"
    built: int = 0
    asked: list[str] = field(default_factory=list[str])

    def client(self) -> SecretsManagerClient:
        """Build a client, which is itself."""
        self.built += 1
        return cast(SecretsManagerClient, self)

    def get_secret_value(self, *, SecretId: str) -> Any:  # noqa: N803 - AWS's own name
        self.asked.append(SecretId)
        return {"SecretString": self.value}


def test_a_secret_is_not_read_before_somebody_needs_it() -> None:
    manager = SecretsManager()

    Secret(ARN, manager.client)

    assert (manager.built, manager.asked) == (0, [])


def test_a_secret_is_read_once_however_often_it_is_needed() -> None:
    manager = SecretsManager()
    secret = Secret(ARN, manager.client)

    values = {secret(), secret(), secret()}

    assert values == {"grüße".encode()}
    assert (manager.built, manager.asked) == (1, [ARN])


def test_another_function_instance_reads_the_secret_itself() -> None:
    """A secret that was changed meanwhile counts from the next instance on."""
    manager = SecretsManager()
    before = Secret(ARN, manager.client)()
    manager.value = "another"

    after = Secret(ARN, manager.client)()

    assert (before, after) == ("grüße".encode(), b"another")
