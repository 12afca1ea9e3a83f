"""Answers that the tests of streams send."""

from tests.server.answers import Json

ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}
