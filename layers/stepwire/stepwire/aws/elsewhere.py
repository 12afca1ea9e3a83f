"""Step Functions in other accounts and Regions. Loaded with the first call of a tool whose manifest names a role."""

import os
from functools import cache
from typing import TYPE_CHECKING

from stepwire.aws.clients import step_functions_client_elsewhere, sts_client
from stepwire.aws.settings import read_external_id
from stepwire.aws.workflows.elsewhere import ClientsElsewhere, assumed

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


def client_elsewhere(region: str, role: str) -> "SFNClient":
    """Return the client of a Region under a role."""
    return _clients().client(region, role)


@cache
def _clients() -> ClientsElsewhere:
    sts = cache(sts_client)
    return ClientsElsewhere(
        read_external_id(os.environ),
        lambda role, external_id: assumed(sts(), role, external_id, os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")),
        step_functions_client_elsewhere,
    )
