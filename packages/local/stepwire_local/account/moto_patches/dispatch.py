"""Patches of how moto finds what answers a call: looked up once, and not for each call or each account."""

from collections.abc import Callable
from functools import cache
from typing import Any

from moto.core import models, responses
from moto.core.base_backend import BackendDict
from moto.core.custom_responses_mock import CallbackResponse
from moto.core.utils import method_names_from_class

_Replace = Callable[[object, str, object], None]
_answering = cache(CallbackResponse)


def operations_are_listed_once(replace: _Replace) -> None:
    """Patch: Keep the names of the operations that a service has.

    Defect: Each call lists and sorts all members of the class that answers it.
    """
    replace(responses, "method_names_from_class", cache(method_names_from_class))


def accounts_are_found_at_once(replace: _Replace) -> None:
    """Patch: Return an account's part of a service without asking whether it must be made.

    Defect: Each access takes a lock and searches the list of all services that are in use.
    """
    backends: Any = BackendDict
    original = backends.__getitem__

    def getitem(self: Any, account: str) -> Any:
        return self.get(account) or original(self, account)

    replace(backends, "__getitem__", getitem)


def answers_are_made_once(replace: _Replace) -> None:
    """Patch: Make what answers the library `requests` once, and register it with each account.

    Defect: Each start makes 1,300 answers, one per method and address, which is a fifth of the start of a small stack.
    """
    replace(models, "CallbackResponse", _answering)


PATCHES = (operations_are_listed_once, accounts_are_found_at_once, answers_are_made_once)
