"""boto3 clients of the simulated account, one per service, because building one takes 0.1 s and megabytes.

No role limits those of `aws_client`, whichever function runs: they act for the local stack. Those of `plain_aws_client`
make the calls of workflows, under the workflow's role. Both return `Any`: the stubs know a service only by its literal
name.
"""

import threading
from functools import cache
from typing import Any, cast

import boto3
from botocore.config import Config

from stepwire_local.iam import permissions

# Building clients from one boto3 session is not thread-safe.
_lock = threading.Lock()


def aws_client(service: str, region: str) -> Any:
    """Return the client of a service."""
    with _lock:
        return _built(service, region)


def plain_aws_client(service: str, region: str) -> Any:
    """Return a client without parameter validation and retries, as Step Functions calls other services."""
    config = Config(parameter_validation=False, retries={"total_max_attempts": 1}, inject_host_prefix=False)
    with _lock:
        return _session().client(service, region_name=region, config=config)


@cache
def _built(service: str, region: str) -> Any:
    client = _session().client(service, region_name=region)
    client.meta.events.unregister("before-parameter-build", permissions.check)
    return client


@cache
def _session() -> Any:
    return cast("Any", boto3).session.Session()
