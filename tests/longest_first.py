"""The order of the test files: those that take longest come first, so that no worker is still busy with one at the end.

The times are in seconds, of `make test` on two cores. A file belongs here when it takes more than about 8 seconds.
"""

from collections import Counter
from typing import Final

SECONDS: Final = {
    # With ALL=1. It forks its process for each of 2,400 inputs, so it begins while the process is small.
    "tests/worst/test_worst.py": 240,
    "tests/command/test_terminal.py": 40,
    "tests/local/test_command.py": 37,
    "tests/examples/test_demo.py": 33,
    "tests/integration/test_replay.py": 33,
    "tests/local/test_pipelines.py": 30,
    "tests/examples/test_refund_workflow.py": 29,
    "tests/wrap/test_command_line.py": 28,
    "tests/refusals/test_refusals.py": 27,
    "tests/integration/test_forty_machines.py": 26,
    "tests/interop/test_client_tasks.py": 25,
    "tests/local/account/test_patches_of_task_tokens.py": 24,
    "tests/e2e/test_legacy_dialogue.py": 24,
    "tests/integration/test_sam_local.py": 24,
    "tests/integration/test_secrets_in_logs.py": 22,
    "tests/command/test_client.py": 21,
    "tests/interop/test_fetching.py": 21,
    "tests/unit/tasks/test_lifecycle.py": 21,
    "tests/examples/test_workflow.py": 21,
    "tests/e2e/test_sign_in.py": 20,
    "tests/integration/test_instances.py": 19,
    "tests/local/account/test_services.py": 17,
    "tests/integration/test_runtime_client.py": 16,
    "tests/sign_in/test_libraries.py": 14,
    "tests/e2e/test_modern_dialogue.py": 13,
    "tests/clients/test_on_stacks.py": 13,
    "tests/wrap/test_forty.py": 12,
    "tests/integration/test_completion_events.py": 12,
    "tests/e2e/test_sampling_and_roots.py": 11,
    "tests/integration/test_threads.py": 11,
    "tests/integration/test_their_machines.py": 10,
    "tests/integration/test_policies.py": 10,
    "tests/command/test_other_servers.py": 10,
    "tests/unit/engine/test_starving.py": 10,
    "tests/e2e/test_many_tasks.py": 8,
    "tests/command/test_interrupts.py": 8,
}


def in_order(files: list[str]) -> list[int]:
    """Return the positions of the tests in the order to run them, given the file of each.

    After the files with a known time, those with the most tests come first. The tests of a file keep their order.
    """
    tests = Counter(files)
    return sorted(range(len(files)), key=lambda at: (-SECONDS.get(files[at], 0), -tests[files[at]], files[at]))
