"""Look-ups in the template that several tests share."""

from tests.template.document import (
    Resource,
    Statement,
)


def named(value: Resource | Statement | object) -> str:
    return getattr(value, "logical_id", getattr(value, "name", str(value)))
