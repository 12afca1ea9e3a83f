"""What all tests share: how hypothesis works."""

import os

from hypothesis import settings

# No deadline: the first example pays for what is built lazily. No database: a test depends on nothing left on the disk.
settings.register_profile("stepwire", deadline=None, database=None)
# What is found by chance is found by people, who can look into it; for CI the same commit passes or fails every time.
settings.register_profile("ci", settings.get_profile("stepwire"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "stepwire")
