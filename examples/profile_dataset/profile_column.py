"""The workflow's second function: profiles one column. The Map state calls it once per column."""

import os
from typing import Any

from dataprofile.column import profile
from dataprofile.dataset import column_of


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Return the profile of the column in an item of read_dataset."""
    item = event["column"]
    column = column_of(item, os.environ.get("PROFILE_BUCKET", ""))
    return {
        "position": item["position"],
        "name": item["name"],
        **profile(column.values, column.rows, event["missing_values"]),
    }
