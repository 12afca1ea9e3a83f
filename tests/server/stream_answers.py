"""Answers that the tests of streams send."""

from tests.server.clients import (
    Json,
)

ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}
