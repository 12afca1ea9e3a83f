"""Patch of EventBridge: rules reach functions, queues, state machines and topics."""

import copy
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from moto.events.models import Rule

from stepwire_local.account.deliveries import Cause, can_get_events, deliver_to_target_of_rule

_Replace = Callable[[object, str, object], None]


def rules_reach_their_targets(replace: _Replace) -> None:
    """Patch: Deliver to functions, queues, state machines and topics, with each target's input; skip disabled rules.

    Defect: PutEvents raises NotImplementedError if a rule's target is a function, a state machine or a topic. A queue
    gets the event without its account, whatever input the rule says. Disabled rules match events too.
    """
    original: Any = Rule.send_to_targets

    def send_to_targets(self: Any, original_event: Any, transform_input: bool = True) -> None:  # noqa: FBT001, FBT002  # theirs
        if self.state != "ENABLED":
            return
        if self.event_pattern.matches_event(original_event):
            for target in filter(_is_served, self.targets):
                event = _sent(original_event)
                deliver_to_target_of_rule(target, event, Cause("rule", self.arn, str(event["detail-type"])))
        others = copy.copy(self)
        others.targets = [target for target in self.targets if not _is_served(target)]
        original(others, original_event, transform_input)

    replace(Rule, "send_to_targets", send_to_targets)


def _is_served(target: Any) -> bool:
    return can_get_events(target["Arn"])


def _sent(event: Any) -> Mapping[str, Any]:
    """Return an event as EventBridge sends it: moto's time is a number."""
    moment = event["time"]
    if isinstance(moment, int | float):
        moment = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {name: value for name, value in event.items() if name != "ingestion-time"} | {"time": moment}


PATCHES = (rules_reach_their_targets,)
