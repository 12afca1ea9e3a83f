"""The local stack: serves a SAM template on 127.0.0.1, with neither Docker nor an AWS account.

`stepwire-local --template template.yaml --port 3000` serves until Ctrl-C; `LocalStack` does the same in a `with`
block. The services are moto's, in this process and patched (moto_patches/); Lambda, API Gateway and CloudFormation are
our own, small.

The rule: moto is imported by whoever asks for the first name below, and not before. It takes two seconds, which
`stepwire-local --help` does not have; and it asks botocore for regions, which fails on a profile that is not there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from stepwire_local.account.isolation import isolated
from stepwire_local.account.on_demand import import_on_demand
from stepwire_local.errors import EngineError, FunctionLoadError, LocalStackError, PortInUse, StubError, TemplateError

if TYPE_CHECKING:
    from stepwire_local.account.status_events import EventPolicy, StatusEvent, after, at_once, never, twice
    from stepwire_local.stack import FunctionError, LocalStack
    from stepwire_local.streams.expiry import ExpiredItem, ExpiryPolicy

__all__ = [
    "EngineError",
    "EventPolicy",
    "ExpiredItem",
    "ExpiryPolicy",
    "FunctionError",
    "FunctionLoadError",
    "LocalStack",
    "LocalStackError",
    "PortInUse",
    "StatusEvent",
    "StubError",
    "TemplateError",
    "after",
    "at_once",
    "never",
    "twice",
]
_MODULES: Final = {
    "stack": ("FunctionError", "LocalStack"),
    "account.status_events": ("EventPolicy", "StatusEvent", "after", "at_once", "never", "twice"),
    "streams.expiry": ("ExpiredItem", "ExpiryPolicy"),
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Return one of the names above that the simulated account is needed for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with isolated():
        import_on_demand()
        import_module("stepwire_local.stack")
        return getattr(import_module(f"stepwire_local.{_MODULE_OF[name]}"), name)
