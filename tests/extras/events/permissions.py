"""For tests/integration/test_policies.py: permissions that the tests of other parts use."""

from typing import Final

_EVENTS: Final = "events: tests/extras/events subscribes, polls and is woken"
OF_OTHER_TESTS: Final = {
    ("RecordEvents", "dynamodb:putitem"): _EVENTS,
    ("RecordEvents", "dynamodb:query"): _EVENTS,
    ("RecordEvents", "dynamodb:updateitem"): _EVENTS,
    ("AskForDeliveries", "sqs:sendmessage"): _EVENTS,
    ("ReadEvents", "dynamodb:query"): _EVENTS,
    ("ReadEvents", "dynamodb:updateitem"): _EVENTS,
    ("SendMessagesAgain", "sqs:sendmessage"): _EVENTS,
}
