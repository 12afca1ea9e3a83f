"""The rules of the stack with notices take the sample event, and make of it what mail, Slack and Teams get.

EventBridge's input transformer is evaluated here as its documentation says: a placeholder inside a JSON string is text,
elsewhere it is a JSON value; a path that finds nothing leaves nothing.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

import boto3
import pytest
from moto import mock_aws
from moto.events.models import EventPattern

from stepwire_local.cloudformation.template import parse
from tests.examples.stacks import ROOT
from tests.recorded import recorded

Json = dict[str, Any]
RESOURCES: Final[Json] = parse(ROOT / "examples/extras/approvals/notices.yaml")["Resources"]
RULES: Final = ("MailRule", "SlackRule", "TeamsRule")
LINK: Final = "https://mcp.example.com/approvals/AbC-123"
CHANNEL: Final = "C0123456789"
_PLACEHOLDER: Final = re.compile(r"<([a-z]+)>")


@pytest.fixture
def event() -> Json:
    """Return the sample event, of an endpoint that makes links."""
    found = recorded("extras/approvals/question_asked")
    found["detail"]["links"] = [{"to": None, "url": LINK}]
    return found


def transformer_of(rule: str) -> Json:
    (target,) = RESOURCES[rule]["Properties"]["Targets"]
    return target["InputTransformer"]


def transformed(rule: str, event: Json) -> str:
    """Return what the target of a rule gets."""
    transformer = transformer_of(rule)
    given = transformer["InputTemplate"]
    text: str = cast(Any, given)["Fn::Sub"] if isinstance(given, dict) else given
    template = text.replace("${SlackChannel}", CHANNEL)
    found = {name: found_at(path, event) for name, path in transformer["InputPathsMap"].items()}
    assert set(found) == set(_PLACEHOLDER.findall(template)), "every path is used, and every placeholder has one"
    return "".join(
        part if is_text is None else put(part, found, is_text=is_text) for part, is_text in parts_of(template)
    )


def parts_of(template: str) -> list[tuple[str, bool | None]]:
    """Split a template into text and placeholders; with each of these, whether it stands inside a JSON string."""
    parts, end, is_text = list[tuple[str, bool | None]](), 0, False
    for match in _PLACEHOLDER.finditer(template):
        before = template[end : match.start()]
        is_text ^= before.count('"') % 2 == 1
        parts += [(before, None), (match[1], is_text)]
        end = match.end()
    return [*parts, (template[end:], None)]


def put(name: str, found: Mapping[str, Any], *, is_text: bool) -> str:
    value = found[name]
    if value is None:
        return ""
    return json.dumps(value)[1:-1] if is_text else json.dumps(value)


def found_at(path: str, event: Json) -> Any:
    value: Any = event
    for name, index in re.findall(r"\.([a-z_]+)(?:\[(\d+)\])?", path):
        value = value.get(name)
        value = value[int(index)] if index and value else value
    return value


@pytest.mark.parametrize("rule", RULES)
def test_eventbridge_takes_a_rule_and_the_rule_takes_only_open_questions(rule: str, event: Json) -> None:
    pattern = json.dumps(RESOURCES[rule]["Properties"]["EventPattern"])
    with mock_aws():
        events = cast(Any, boto3).client("events", region_name="eu-central-1")
        events.put_rule(Name=rule, EventPattern=pattern)
        transformer = {"InputPathsMap": transformer_of(rule)["InputPathsMap"], "InputTemplate": '"<tool>"'}
        arn = "arn:aws:sns:eu-central-1:123456789012:mails"
        answer = events.put_targets(Rule=rule, Targets=[{"Id": "it", "Arn": arn, "InputTransformer": transformer}])

    taken = cast(Any, EventPattern).load(pattern)
    assert answer["FailedEntryCount"] == 0
    assert taken.matches_event(event)
    assert not taken.matches_event(recorded("extras/approvals/question_closed"))
    assert not taken.matches_event(recorded("task_status_changed"))


def test_the_mail_says_who_decides_what_until_when_and_where(event: Json) -> None:
    lines = [json.loads(line) for line in transformed("MailRule", event).splitlines()]

    assert lines == [
        "approve_refund waits for a decision of finance (asked). Asked by alice@example.com, open until "
        "2026-08-02T12:00:00.000Z.",
        f"Decide: {LINK}",
    ]


def test_slack_gets_a_message_with_the_link_and_nothing_that_people_wrote_is_markup(event: Json) -> None:
    event["detail"]["asked_by"] = '<!channel> "all"'

    message = json.loads(transformed("SlackRule", event))

    header, facts, link = message["blocks"]
    assert (message["channel"], message["unfurl_links"]) == (CHANNEL, False)
    assert header["text"]["text"] == "A question waits for a decision"
    assert {one["type"] for one in facts["fields"]} == {"plain_text"}
    said = [one["text"] for one in facts["fields"]]
    assert dict(zip(said[::2], said[1::2], strict=True)) == {
        "Of": "finance",
        "Tool": "approve_refund",
        "Asked by": '<!channel> "all"',
        "Until": "2026-08-02T12:00:00.000Z",
    }
    assert link["text"] == {"type": "mrkdwn", "text": f"Decide: {LINK}"}


def test_teams_gets_an_adaptive_card_with_the_link(event: Json) -> None:
    message = json.loads(transformed("TeamsRule", event))

    (attachment,) = message["attachments"]
    card = attachment["content"]
    assert (message["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    facts = {one["title"]: one["value"] for one in card["body"][1]["facts"]}
    assert (facts["Of"], facts["Tool"], facts["Asked by"]) == ("finance", "approve_refund", "alice@example.com")
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Decide", "url": LINK}]


@pytest.mark.parametrize("rule", RULES)
def test_no_notice_has_the_arguments_or_the_text_of_the_question(rule: str, event: Json) -> None:
    assert "desk" in event["detail"]["message"]
    assert "desk" not in transformed(rule, event)
