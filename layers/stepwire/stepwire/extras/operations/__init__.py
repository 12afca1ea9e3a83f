"""For who operates an endpoint: a probe that calls a tool from outside, and an archive of the audit trail.

Neither is part of a request: the probe is a function of its own, and the archive is resources of the template alone.
"""

from stepwire.hooks import Extra

EXTRA = Extra(name="operations")
