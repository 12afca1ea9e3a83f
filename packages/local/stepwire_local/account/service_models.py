"""How the models of AWS services are read: once in a process, where botocore reads them again in each session.

A stack has several sessions, each with a dozen models of up to a megabyte of JSON. The rule: nobody changes a model
that was read, which holds within a session already.
"""

from functools import cache
from typing import Any

from botocore import loaders, session

_loader: Any = cache(loaders.create_loader)


def _shared_loader(data_path: str | None = None) -> Any:
    loader = _loader(data_path)
    loader.search_paths[:] = dict.fromkeys(loader.search_paths)  # each session of boto3 adds the same folder
    return loader


def read_models_once() -> None:
    """Let every session that is made from now on share what it reads."""
    session.create_loader = _shared_loader
