"""Patch of EventBridge: rules reach Lambda functions."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from moto.events.models import Rule

from stepwire_local.lambdas.asynchronous import deliver

_Replace = Callable[[object, str, object], None]


def rules_invoke_functions(replace: _Replace) -> None:
    """Patch: Invoke the function asynchronously, and skip disabled rules.

    Defect: PutEvents raises NotImplementedError if a rule's target is a Lambda function, and disabled rules match
    events too.
    """
    original: Any = Rule.send_to_targets

    def send_to_targets(self: Any, original_event: Any, transform_input: bool = True) -> None:  # noqa: FBT001, FBT002  # theirs
        if self.state != "ENABLED":
            return
        if self.event_pattern.matches_event(original_event):
            for target in filter(_is_function, self.targets):
                _deliver(self, target, original_event)
        others = copy.copy(self)
        others.targets = [target for target in self.targets if not _is_function(target)]
        original(others, original_event, transform_input)

    replace(Rule, "send_to_targets", send_to_targets)


def _is_function(target: Any) -> bool:
    return target["Arn"].split(":")[2] == "lambda"


def _deliver(rule: Any, target: Any, event: Any) -> None:
    moment = event["time"]
    if isinstance(moment, int | float):
        moment = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    sent = {name: value for name, value in event.items() if name != "ingestion-time"} | {"time": moment}
    dead_letters = target.get("DeadLetterConfig", {}).get("Arn")
    deliver(target["Arn"], json.dumps(sent), rule_arn=rule.arn, dead_letters=dead_letters)


PATCHES = (rules_invoke_functions,)
