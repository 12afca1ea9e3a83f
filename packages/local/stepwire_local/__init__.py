"""The local stack: serves a SAM template on 127.0.0.1, with neither Docker nor an AWS account.

`stepwire-local --template template.yaml --port 3000` serves until Ctrl-C; `LocalStack` does the same in a `with`
block. The services are moto's, in this process and patched (moto_patches/); Lambda, API Gateway and CloudFormation are
our own, small.
"""

from stepwire_local.account.isolation import isolated
from stepwire_local.account.on_demand import import_on_demand
from stepwire_local.errors import EngineError, FunctionLoadError, LocalStackError, PortInUse, StubError, TemplateError

with isolated():
    # moto asks botocore for regions when it is imported, and fails on a profile that is not there.
    import_on_demand()
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
