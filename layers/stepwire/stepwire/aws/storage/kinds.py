"""The kinds of items that the core keeps below a caller's principal, for whoever exports or erases them all.

The rule: every item below a principal has a kind, here or in the hook `items` of its extra. What is kept elsewhere is
found through those.
"""

from typing import Final

from stepwire.aws.storage.items import TASK_PREFIX

KINDS: Final = {
    "key#": "idempotency key",
    "request#": "request",
    "result#": "result",
    TASK_PREFIX: "task",
    "terms#": "arguments",
    "usage#": "usage",
    "waits": "slots of waiting requests",
}
"""What an item is, by how its sort key begins."""
