"""Dummy credentials in place of the developer's own, so that local code cannot use a real AWS account.

Import only the standard library here: botocore reads the environment as soon as moto is imported.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager

REGION = "us-east-1"
ACCESS_KEY = "LOCALSTACKDUMMYKEY"

_DUMMIES = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": "not-a-secret",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    # Hide the profiles, endpoints and regions in the developer's configuration files.
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


def dummy_credentials(region: str) -> dict[str, str]:
    """Return the variables that stand for a function's role, and for its Region."""
    return {**_DUMMIES, "AWS_DEFAULT_REGION": region, "AWS_REGION": region}


@contextmanager
def isolated() -> Generator[None]:
    """Replace every AWS_* variable of the process by dummies until the block ends."""
    kept = _taken_out()
    os.environ.update(_DUMMIES)
    try:
        yield
    finally:
        _taken_out()
        os.environ.update(kept)


def _taken_out() -> dict[str, str]:
    return {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("AWS_")}
