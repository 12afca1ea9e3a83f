"""The AWS calls of each step of a task: one table, which the simulation uses and the tests check the code against.

The rule: nothing is estimated; tests/integration/test_aws_calls*.py asserts each entry where botocore makes the calls.
"""

from typing import Final

from tests.extras import parts

CREATE: Final = ("UpdateItem", "PutItem", "StartExecution")
"""A call that creates a task. A caller who has just created another one costs one UpdateItem more."""
KEYED: Final = ("PutItem", *CREATE)
"""The same with an idempotency key: claiming the key also tells whether it is new."""
REPEATED: Final = ("PutItem", "GetItem")
"""A repeated call with that key: a claim that fails, and a read of the task."""
PLAIN: Final = ("UpdateItem", "PutItem", "PutItem", "StartExecution")
"""A plain call of 2025-11-25 that the client resumes: also stores which task belongs to the request."""
GIVE_UP: Final = ("UpdateItem", "GetItem", "StopExecution", "PutItem", "UpdateItem")
"""Cancelling a plain call. If the request has no task, only the first call is made."""
POLL: Final = ("GetItem",)
"""tasks/get, tasks/result, the first body of a stream, a round of a plain call: unless a check is due."""
WAIT: Final = ("UpdateItem",) * 4
"""A request that waits: it acquires and releases a wait slot of the caller and one of the stack."""
EXPRESS: Final = ("UpdateItem", *WAIT[:2], "StartSyncExecution", *WAIT[2:])
"""A call of a tool of type EXPRESS: the rate, a wait slot, and the execution. A caller who has just made another call
costs one UpdateItem more.
"""
STREAM_POLL: Final = ("BatchGetItem",)
"""Resuming a stream (GET with Last-Event-ID): reads the task, and whether the request was cancelled."""
LOOK: Final = ("GetItem", "GetExecutionHistory", "PutItem")
"""A poll that reads the current state: once in STATE_AFTER_SECONDS, or in a twentieth of the task's age if that is
longer. In a Distributed Map also DescribeMapRun.
"""
REPAIR: Final = ("GetItem", "DescribeExecution", "PutItem", "UpdateItem")
"""A poll that finds the end of an execution whose status event was lost."""
END: Final = ("GetItem", "PutItem", "UpdateItem")
"""A status event, handled by function execution_events."""
RESTART_AT_ONCE: Final = ("GetItem", "PutItem", "StartExecution", "GetItem")
"""A status event of a failure that is retried at once: one write, the next attempt, and one call, which begins it.

The first read is that of every status event. The last one finds a cancel that came between the write and the call: its
caller knows the task, and was told that nothing runs. Without it, the attempt would run until the sweep stops it.
"""
REDRIVE_AT_ONCE: Final = ("GetItem", "PutItem", "RedriveExecution", "GetItem")
"""The same where the failed execution goes on."""
RETRY_LATER: Final = ("GetItem", "PutItem", "SendMessage")
"""A status event of a failure that is retried after a delay: the message is what wakes the task, so that nothing waits.
Of a delay of more than 15 minutes, each further quarter of an hour is a read and a message.
"""
RESTART_IN_TIME: Final = ("GetItem", "StartExecution", "GetItem")
"""The message in its time: it names the task and no more, so that a task that has ended is not begun again. No write:
the attempt is in the task since its failure.
"""
REDRIVE_IN_TIME: Final = ("GetItem", "RedriveExecution", "GetItem")
"""The same where the failed execution goes on."""
REMOVAL: Final[tuple[str, ...]] = ()
"""The stream record of an expired task that had ended, handled by function expirations."""

SWEEP: Final = (*(call for part in parts("swept") for call in part.CALLS), "GetItem", *("Query",) * 4)
"""A run of the sweep that finds nothing to do, with what extras do first."""
COMPILE: Final = ("GetItem", "GetParametersByPath", "GetItem", "GetItem", "PutItem")
"""A run of function catalog on its schedule, where no tool is registered."""

INDEX_WRITES: Final = {CREATE: 1, LOOK: 2, REPAIR: 1, END: 1}
"""Write units of the index `neglected`: one if a task is added or removed, two if its `checked_at` changes, which it
does in steps of five minutes: of several looks in five minutes, one writes the index.

DynamoDB makes these writes itself, so they are not counted as calls; the numbers are from its documentation.
"""
