"""What all tests share: how hypothesis works."""

from hypothesis import settings

# No deadline: the first example pays for what is built lazily. No database: a test depends on nothing left on the disk.
settings.register_profile("stepwire", deadline=None, database=None)
settings.load_profile("stepwire")
