"""The workflow's first function: reads the dataset and lists its columns. It has no layer and so no DuckDB."""

import os
from typing import Any

from dataprofile.dataset import describe


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Return the dataset's shape and an item per column."""
    return describe(event, os.environ.get("PROFILE_BUCKET", ""))
