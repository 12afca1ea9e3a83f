"""For tests/server/anything.py: the methods with which a host reads the card."""

METHODS = ("resources/list", "resources/read", "resources/templates/list")
