"""The description of the audit's lines, which is made of the code that writes them."""

import json
from typing import Any

import pytest

from stepwire.audit import AuditAction, Audited, AuditEntry, EndSource
from stepwire.aws.audit_log import ENDS, line_of
from stepwire.tracing import Trace
from tests.docs.audit_schema import ACTIONS, ALWAYS, SCHEMA, faults_of, text
from tests.extras import parts
from tests.kits import ALICE

DETAILS = {
    name: text.get("enum", ["anything"])[0] for part in parts("audit_members") for name, text in part.TEXTS.items()
}
"""A value of each member that only extras' lines have."""


def test_the_schema_in_the_documents_is_made_of_the_code() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == text(), "python -m tests.docs.audit_schema"


@pytest.mark.parametrize("authorizer", ["jwt", "none"])
@pytest.mark.parametrize("metrics", ["on", "off"])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda one: one.word)
def test_the_line_of_each_action_fits_the_schema(
    monkeypatch: pytest.MonkeyPatch, action: Audited, metrics: str, authorizer: str
) -> None:
    monkeypatch.setenv("AUTHORIZER", authorizer)
    monkeypatch.setenv("TOOL_METRICS", metrics)
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "prod")
    whole = AuditEntry(
        action, ALICE, "a tool", "old", "completed", source=EndSource.CHECK, client="a 1", follow_up="new",
        operator="an ARN", winner="fast", details=DETAILS,
    )  # fmt: skip
    least = AuditEntry(action, ALICE, outcome="failed")

    lines = [json.loads(json.dumps(line_of(one))) for one in (whole, least)]

    assert [faults_of(line) for line in lines] == [[], []]
    assert all(set(ALWAYS) <= set(line) for line in lines)


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"arguments": "x"}, "arguments"), ({"audit_version": 2}, "1 was expected"), ({"audit": "eaten"}, "eaten")],
)
def test_a_line_of_another_form_does_not_fit(changed: dict[str, Any], words: str) -> None:
    line = line_of(AuditEntry(AuditAction.CREATED, ALICE, "a tool", "an id"))

    faults = faults_of({**line, **changed})

    assert words in " ".join(faults)


def test_each_action_has_a_word_and_a_metric_of_its_own() -> None:
    words, metrics = [one.word for one in ACTIONS], [one.metric for one in ACTIONS if one.metric]

    assert len(set(words)) == len(words)
    assert len({*metrics, *ENDS.values()}) == len(metrics) + len(set(ENDS.values()))


def test_no_extra_takes_a_member_that_any_line_may_have() -> None:
    entry = AuditEntry(
        AuditAction.FOLLOWED_UP, ALICE, "a tool", "old", "redrive", source=EndSource.CHECK, client="a 1",
        follow_up="new", operator="an ARN", winner="fast", trace=Trace("00-" + "1" * 32 + "-" + "2" * 16 + "-01"),
    )  # fmt: skip

    assert line_of(entry).keys() & DETAILS.keys() == set()
