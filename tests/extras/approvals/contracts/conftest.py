"""The fixtures of the contract tests, for that of lines."""

from tests.contracts.conftest import aws, folder_of_models, models, store

__all__ = ["aws", "folder_of_models", "models", "store"]
