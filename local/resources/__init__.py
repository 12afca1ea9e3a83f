"""The resource types that the local stack serves: how each is created, and which of its properties count here.

What has no effect here is reported at the start, so nothing of a template is dropped in silence: a property that is
neither `served` nor `harmless` by its name, the `harmless` ones by the note of their kind.
"""

from local.resources import (
    compute,
    data,
    gateway,
    mappings,
    messaging,
    monitoring,
    releases,
    roles,
    secrets,
    workflows,
)
from local.resources.kinds import Kind

KINDS: dict[str, Kind] = {
    **data.KINDS,
    **secrets.KINDS,
    **messaging.KINDS,
    **roles.KINDS,
    **workflows.KINDS,
    **compute.KINDS,
    **releases.KINDS,
    **mappings.KINDS,
    **gateway.KINDS,
    **monitoring.KINDS,
}
