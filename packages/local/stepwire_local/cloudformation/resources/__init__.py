"""The resource types that the local stack serves: how each is created, and which of its properties have an effect.

Nothing in a template is dropped silently. At the start, a property that is neither `served` nor `harmless` is reported
by name; the note of the resource type covers the `harmless` ones.
"""

from stepwire_local.cloudformation.resources import (
    compute,
    data,
    function_urls,
    gateway,
    mappings,
    messaging,
    monitoring,
    parameters,
    releases,
    roles,
    schedules,
    secrets,
    topics,
    workflows,
)
from stepwire_local.cloudformation.resources.kinds import Kind

KINDS: dict[str, Kind] = {
    **data.KINDS,
    **secrets.KINDS,
    **parameters.KINDS,
    **messaging.KINDS,
    **schedules.KINDS,
    **topics.KINDS,
    **roles.KINDS,
    **workflows.KINDS,
    **compute.KINDS,
    **releases.KINDS,
    **function_urls.KINDS,
    **mappings.KINDS,
    **gateway.KINDS,
    **monitoring.KINDS,
}
