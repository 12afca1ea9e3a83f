"""The tags of resources, as conditions of policies ask for them. Read anew for each question: tags change.

Covered: state machines and their executions, which have the tags of their state machine, as in AWS.
"""

from collections.abc import Mapping

from moto.stepfunctions.models import stepfunctions_backends
from moto.stepfunctions.parser.models import stepfunctions_parser_backends

_STATE_MACHINE_PARTS = 7  # of an ARN; then come a version, an alias or the name of an execution


def tags_of(arn: str) -> Mapping[str, str]:
    """Return the tags of a resource; empty for what has none, or is not there."""
    parts = arn.split(":")
    if len(parts) < _STATE_MACHINE_PARTS or parts[2] != "states":
        return {}
    region, account = parts[3], parts[4]
    machine = ":".join([*parts[:5], "stateMachine", parts[6]])
    for backends in (stepfunctions_parser_backends, stepfunctions_backends):
        found = backends[account][region].tagger.get_tag_dict_for_resource(machine)
        if found:
            return {key: value or "" for key, value in found.items()}
    return {}
