"""What describes the audit's lines to programs: docs/audit.schema.json, and the columns of the table of Athena.

    python -m tests.docs.audit_schema    # writes the schema

Made of the code that writes the lines (`stepwire.aws.audit_log`). The rule: a line has no other members, which
`tests.kits` checks for each entry that a test writes.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from stepwire.audit import AuditAction, Audited, AuditEntry, EndSource
from stepwire.aws.audit_log import AUDIT_VERSION, ENDS, line_of
from stepwire.principal import PRINCIPAL_PATTERN
from tests.extras import parts, parts_of_the_kit

SCHEMA: Final = Path(__file__).parents[2] / "docs" / "audit.schema.json"


def actions_of(*groups: object) -> tuple[Audited, ...]:
    """Return the actions that a class or module names."""
    return tuple(one for group in groups for one in vars(group).values() if isinstance(one, Audited))


ACTIONS: Final = actions_of(AuditAction, *parts_of_the_kit("audit"))
"""What can be audited: by the core, and by each extra that is there."""
_DIGEST: Final = "^[0-9a-f]{32}$"
_METRICS: Final = {
    "Duration": "Seconds from the creation of the task to its end.",
    "ActiveChange": "By how much the number of active tasks changes.",
    "Repaired": "0 if an event brought the end, 1 if a check found it.",
}
_TEXTS: Final[dict[str, dict[str, Any]]] = {
    "service": {"description": "Name of the endpoint's stack."},
    "tool": {"description": "Name of the tool; - for entries without one."},
    "audit": {"description": "What happened.", "enum": [one.word for one in ACTIONS]},
    "principal": {"description": "Hash that stands for the caller.", "pattern": f"^{PRINCIPAL_PATTERN.pattern}$"},
    "task_id": {"description": "Id of the task."},
    "task_digest": {"description": "In place of the id, with Authorizer=none.", "pattern": _DIGEST},
    "trace_id": {"description": "W3C id of the trace.", "pattern": _DIGEST},
    "outcome": {"description": "How a task ended, why a request was refused, or what else came of it."},
    "source": {"description": "What brought an end.", "enum": [one.value for one in EndSource]},
    "client": {"description": "Name and version that a client gave itself."},
    "winner": {"description": "The arm that has won a race."},
    "operator": {"description": "ARN that the command of an operator gave."},
    "follow_up_task_id": {"description": "Id of the task by which an operator continued this one."},
    "follow_up_task_digest": {"description": "In its place, with Authorizer=none.", "pattern": _DIGEST},
    **{name: text for part in parts("audit_members") for name, text in part.TEXTS.items()},
}
COLUMNS: Final = ("audit_version", "at", *_TEXTS)
"""The members that are columns of the table, beside the metrics that it has."""
ALWAYS: Final = ("audit", "audit_version", "at", "principal", "tool")


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a line."""
    counted = {name: f"How often: {name}." for name in (*ENDS.values(), *(one.metric for one in ACTIONS if one.metric))}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of Stepwire's audit",
        "type": "object",
        "required": list(ALWAYS),
        "properties": {
            "audit_version": {"description": "Version of this form.", "const": AUDIT_VERSION},
            "at": {"description": "When it was written, in milliseconds since 1970.", "type": "integer"},
            **{name: {"type": "string", **more} for name, more in _TEXTS.items()},
            **{name: _metric(words) for name, words in sorted({**counted, **_METRICS}.items())},
            "_aws": {
                "description": "CloudWatch's Embedded Metric Format, with MetricsDashboard=tools.",
                "type": "object",
            },
        },
        "additionalProperties": False,
    }


def _metric(words: str) -> dict[str, Any]:
    return {"description": words, "type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 1}


@cache
def _validator() -> Any:
    return jsonschema_rs.validator_for(schema())


def faults_of(line: Any) -> list[str]:
    """Return what a line has that the schema does not allow."""
    return [fault.message for fault in _validator().iter_errors(line)]


class CheckedAudit(list[AuditEntry]):
    """The entries that are written, each of which must make a line that fits the schema."""

    def append(self, entry: AuditEntry) -> None:
        """Check and keep an entry."""
        faults = faults_of(line_of(entry))
        assert faults == [], faults
        super().append(entry)


def text() -> str:
    """Return the text of docs/audit.schema.json."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(text(), encoding="utf-8")
