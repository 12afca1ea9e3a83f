"""Buckets in the simulated account."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from moto.s3.models import s3_backends

from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client

_numbers = count(1)


def new_bucket(kind: str = "large-results") -> str:
    """Create a bucket and return its name."""
    name = f"{kind}-{next(_numbers)}"
    s3: Any = aws_client("s3", REGION)
    s3.create_bucket(Bucket=name)
    return name


def objects_in(bucket: str) -> dict[str, bytes]:
    """Return the objects of a bucket, by their keys."""
    return {key: one.value for key, one in _keys_of(bucket).items()}


def delete_objects_in(bucket: str) -> None:
    """Delete every object of a bucket."""
    _keys_of(bucket).clear()


def fill_again(bucket: str, objects: Mapping[str, bytes]) -> None:
    """Let a bucket have these objects, and no others."""
    delete_objects_in(bucket)
    backend: Any = s3_backends[ACCOUNT]["aws"]
    for key, content in objects.items():
        backend.put_object(bucket, key, content)


def _keys_of(bucket: str) -> Any:
    backend: Any = s3_backends[ACCOUNT]["aws"]
    return backend.buckets[bucket].keys
