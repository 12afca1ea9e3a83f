"""What an extra has in the template, for its tests: an extra says so in its module `template`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class InTemplate:
    """What one extra has in the template, and what it adds to functions of the core."""

    off: Mapping[str, str] = field(default_factory=dict[str, str])
    """The parameters that switch it off, where it is on by default."""
    on: Mapping[str, str] = field(default_factory=dict[str, str])
    """The parameters that switch it on."""
    queues: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of function status_changes, as a stack resolves them."""
    actions: Sequence[str] = ()
    """That function status_changes may do however much is switched off."""
    partitions: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Those that a statement of a policy may reach."""
    wildcards: Mapping[str, str] = field(default_factory=dict[str, str])
    """Permissions with a wildcard, and why they cannot be narrower."""
