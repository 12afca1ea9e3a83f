"""The AWS calls of each step of a task: one table, which the simulation uses and the tests check the code against.

The rule: nothing is estimated; tests/integration/test_aws_calls*.py asserts each entry where botocore makes the calls.
"""

from typing import Final

CREATE: Final = ("UpdateItem", "PutItem", "StartExecution")
"""A call as a task. A caller who has just created another pays one UpdateItem more."""
KEYED: Final = ("PutItem", *CREATE)
"""The same with an idempotency key: the key is claimed first, which also tells whether it is new."""
REPEATED: Final = ("PutItem", "GetItem")
"""The same again, once its task has been read before: the claim, which fails, and the task."""
PLAIN: Final = ("UpdateItem", "PutItem", "PutItem", "StartExecution")
"""A plain call of 2025-11-25 whose client comes back: also which task does its work, and whether it was given up."""
GIVE_UP: Final = ("UpdateItem", "GetItem", "StopExecution", "PutItem", "UpdateItem")
"""Giving up a plain call. Where nobody knows of a task, it is the first call only."""
POLL: Final = ("GetItem",)
"""tasks/get, tasks/result, the first body of a stream, a round of a plain call: as long as nobody is overdue."""
WAIT: Final = ("UpdateItem",) * 4
"""A request that waits: its place among the caller's and among all, taken and given back."""
EXPRESS: Final = ("UpdateItem", *WAIT[:2], "StartSyncExecution", *WAIT[2:])
"""A call of a tool of type EXPRESS: the rate, a place among those that wait, and the execution. A caller who has just
called pays one UpdateItem more."""
STREAM_POLL: Final = ("BatchGetItem",)
"""Coming back for a stream (GET with Last-Event-ID): the task, and whether the request was given up."""
LOOK: Final = ("GetItem", "PutItem", "GetExecutionHistory", "PutItem")
"""The poll that finds out which state runs: once in StateAfterSeconds. In a Distributed Map also DescribeMapRun."""
REPAIR: Final = ("GetItem", "PutItem", "DescribeExecution", "PutItem", "UpdateItem")
"""The poll that finds out the end of a task whose status event was lost."""
END: Final = ("GetItem", "PutItem", "UpdateItem")
"""A status event: by function execution_events."""
REMOVAL: Final[tuple[str, ...]] = ()
"""The record of a task that had ended before its time was over: by function expirations."""

INDEX_WRITES: Final = {CREATE: 1, LOOK: 2, REPAIR: 3, END: 1}
"""Units that the index `neglected` takes: one where a task comes or goes, two where its `checked_at` changes.

Not counted where botocore makes calls, as DynamoDB makes them by itself: so its documentation has it.
"""
