"""The fixtures of the server tests, for those of the extras."""

from tests.server.conftest import asking, era, legacy, modern, plain, resuming, turns, world

__all__ = ["asking", "era", "legacy", "modern", "plain", "resuming", "turns", "world"]
