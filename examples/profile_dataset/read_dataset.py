"""The workflow's first function: reads the dataset and lists its columns. It imports no DuckDB: it has no layer."""

import os
from typing import Any

from dataprofile.dataset import describe


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Take the tool's arguments; give the dataset's shape and an item a column."""
    return describe(event, os.environ.get("PROFILE_BUCKET", ""))
