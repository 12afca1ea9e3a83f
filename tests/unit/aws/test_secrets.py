"""The secret that signs a requestState: read from Secrets Manager at its first use, and once."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_secretsmanager import SecretsManagerClient

from stepwire.aws.secrets_manager import LOOK_INTERVAL, Secret

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:seal"


@dataclass
class SecretsManager:
    """A fake Secrets Manager with one secret, which records the calls."""

    value: str = "grüße"
    previous: str | None = None
    refusal: str = "ResourceNotFoundException"
    """The error if there is no previous version of the secret."""
    built: int = 0
    asked: list[str] = field(default_factory=list[str])

    def client(self) -> SecretsManagerClient:
        """Return this object as its own client."""
        self.built += 1
        return cast(SecretsManagerClient, self)

    def get_secret_value(self, *, SecretId: str, VersionStage: str = "AWSCURRENT") -> Any:  # noqa: N803 - AWS's names
        self.asked.append(SecretId)
        value = self.value if VersionStage == "AWSCURRENT" else self.previous
        if value is None:
            raise ClientError({"Error": {"Code": self.refusal}}, "GetSecretValue")
        return {"SecretString": value}

    def rotate(self, value: str) -> None:
        """Replace the secret."""
        self.value, self.previous = value, self.value


def test_a_secret_is_read_at_its_first_use_and_once_per_instance() -> None:
    manager = SecretsManager()
    secret = Secret(ARN, manager.client)
    before = (manager.built, [*manager.asked])

    values = {secret(), secret(), secret()}
    manager.value = "another"

    assert (before, values) == ((0, []), {"grüße".encode()})
    assert (manager.built, manager.asked) == (1, [ARN])
    assert Secret(ARN, manager.client)() == b"another"


def test_after_a_rotation_both_secrets_verify_and_the_new_one_signs() -> None:
    manager = SecretsManager("old")
    secret = Secret(ARN, manager.client)
    secret()
    manager.rotate("new")

    known = secret.others()

    assert set(known) == {b"old", b"new"}
    assert secret() == b"new"


def test_a_secret_that_was_never_rotated_is_the_only_one() -> None:
    assert Secret(ARN, SecretsManager("only").client).others() == (b"only",)


def test_forged_state_causes_few_calls_to_aws() -> None:
    manager, now = SecretsManager("old"), [0.0]
    secret = Secret(ARN, manager.client, lambda: now[0])
    for _ in range(100):
        secret.others()
    in_one_interval = len(manager.asked)
    now[0] = LOOK_INTERVAL
    manager.rotate("new")

    known = secret.others()

    assert in_one_interval == 2
    assert known == (b"new", b"old")


def test_an_error_reading_the_previous_secret_is_not_mistaken_for_its_absence() -> None:
    secret = Secret(ARN, SecretsManager(refusal="ThrottlingException").client)

    with pytest.raises(ClientError):
        secret.others()
