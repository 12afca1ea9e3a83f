"""boto3 clients of the simulated account, one for each service: building one takes a tenth of a second and megabytes.

They are the local stack's own, whatever function runs: no role limits them, but for the plain ones, with which
workflows call. They are `Any`: the stubs know a service only by its literal name.
"""

import threading
from functools import cache
from typing import Any, cast

import boto3
from botocore.config import Config

from local import permissions

# boto3 may not build two clients at the same time in one session.
_lock = threading.Lock()


def aws_client(service: str, region: str) -> Any:
    """Return the client of a service."""
    with _lock:
        return _built(service, region)


def plain_aws_client(service: str, region: str) -> Any:
    """Return a client that passes parameters as they are and tries once, as Step Functions calls other services."""
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
