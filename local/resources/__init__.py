"""The resource types that the local stack serves: how each is created, and which of its properties count here.

A property that is neither `served` nor `harmless` is reported at the start, so nothing of a template is dropped in
silence.
"""

from local.resources import compute, data, gateway, messaging, workflows
from local.resources.kinds import Kind

KINDS: dict[str, Kind] = {**data.KINDS, **messaging.KINDS, **workflows.KINDS, **compute.KINDS, **gateway.KINDS}
