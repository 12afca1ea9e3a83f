"""The order of the test files: those that take longest come first, so that no worker is still busy with one at the end.

The times are in seconds, of `make test` on two cores. A file belongs here when it takes more than about 8 seconds.
"""

from collections import Counter
from typing import Final

SECONDS: Final = {
    # The first ones with ALL=1.
    "tests/faults/test_faults.py": 120,
    # It forks its process for each input, so it begins while the process is small.
    "tests/worst/test_worst.py": 240,
    "tests/model/test_model.py": 180,
    "tests/template/test_without_the_examples.py": 130,
    "tests/server/test_anything.py": 110,
    "tests/templates/test_templates.py": 100,
    "tests/unit/engine/test_starving.py": 100,
    "tests/faults/test_weather.py": 70,
    "tests/load/test_load.py": 70,
    "tests/e2e/test_legacy_dialogue.py": 70,
    "tests/examples/test_console_page.py": 70,
    "tests/approval_page/test_in_chromium.py": 70,
    "tests/release/test_wheels.py": 70,
    "tests/model/test_finding.py": 60,
    "tests/sign_in/test_inspector.py": 60,
    "tests/e2e/test_fastmcp.py": 60,
    "tests/benchmarks/test_scale.py": 40,
    "packages/command/tests/wrap/test_forty.py": 40,
    "tests/integration/test_forty_machines.py": 26,  # with ALL=1
    "tests/integration/test_policies.py": 10,  # with ALL=1
    "tests/examples/test_refund_workflow.py": 26,
    "tests/refusals/test_refusals.py": 24,
    "packages/client/tests/test_client.py": 21,
    "tests/examples/test_demo.py": 18,
    "packages/local/tests/account/test_patches_of_task_tokens.py": 16,
    "tests/pipelines/test_pipelines.py": 14,
    "packages/local/tests/test_command.py": 60,
    "tests/interop/test_client_tasks.py": 14,
    "tests/sign_in/test_libraries.py": 14,
    "packages/command/tests/test_command.py": 13,
    "tests/interop/test_fetching.py": 13,
    "tests/e2e/test_modern_dialogue.py": 12,
    "tests/e2e/test_legacy_client.py": 11,
    "tests/e2e/test_modern_client.py": 11,
    "packages/local/tests/account/test_patches_of_stubs.py": 10,
    "packages/local/tests/streams/test_streams.py": 10,
    "tests/clients/test_on_stacks.py": 10,
    "packages/command/tests/test_interrupts.py": 10,
    "tests/e2e/test_sampling_and_roots.py": 9,
    "tests/server/test_isolation.py": 9,
    "tests/integration/test_runtime_client.py": 9,
    "tests/integration/test_secrets_in_logs.py": 9,
    "tests/fuzz/test_targets.py": 9,
    "tests/benchmarks/test_cold.py": 8,
    "packages/client/tests/test_failures.py": 8,
    "packages/local/tests/test_local_stack.py": 8,
    "tests/examples/test_workflow.py": 8,
    "tests/integration/test_flows.py": 8,
}


def in_order(files: list[str]) -> list[int]:
    """Return the positions of the tests in the order to run them, given the file of each.

    After the files with a known time, those with the most tests come first. The tests of a file keep their order.
    """
    tests = Counter(files)
    return sorted(range(len(files)), key=lambda at: (-SECONDS.get(files[at], 0), -tests[files[at]], files[at]))
