"""The order of the test files: those that take longest come first, so that no worker is still busy with one at the end.

The times are in seconds, of `make test ALL=1` on two cores. A file belongs here when it takes 20 seconds or more.
"""

from collections import Counter
from typing import Final

SECONDS: Final = {
    "tests/clients/test_on_stacks.py": 300,
    "tests/worst/test_worst.py": 240,
    "tests/model/test_model.py": 180,
    "tests/template/test_without_the_examples.py": 146,
    "tests/templates/test_templates.py": 130,
    "tests/e2e/test_fastmcp.py": 130,
    "tests/faults/test_faults.py": 120,
    "tests/sign_in/test_libraries.py": 108,
    "tests/e2e/test_legacy_dialogue.py": 104,
    "tests/sign_in/test_inspector.py": 101,
    "tests/examples/test_console_page.py": 94,
    "tests/browser/test_card_forms.py": 79,
    "tests/refusals/test_refusals.py": 71,
    "packages/local/tests/test_command.py": 71,
    "tests/benchmarks/test_scale.py": 68,
    "tests/load/test_load.py": 66,
    "tests/e2e/test_typescript_tasks.py": 60,
    "tests/faults/test_weather.py": 59,
    "tests/browser/test_card_looks.py": 58,
    "tests/release/test_wheels.py": 58,
    "tests/model/test_finding.py": 52,
    "tests/examples/test_card_servers.py": 52,
    "tests/examples/test_demo.py": 50,
    "tests/browser/test_card.py": 48,
    "tests/approval_page/test_in_chromium.py": 47,
    "tests/interop/test_fetching.py": 47,
    "tests/interop/test_client_tasks.py": 46,
    "tests/pipelines/test_pipelines.py": 39,
    "packages/command/tests/wrap/test_command_line.py": 36,
    "tests/unit/engine/test_starving.py": 36,
    "packages/command/tests/wrap/test_forty.py": 35,
    "tests/unit/catalog/test_turns.py": 34,
    "tests/unit/tasks/test_questions_of_a_task.py": 33,
    "tests/integration/test_sam_local.py": 33,
    "tests/benchmarks/test_cold.py": 31,
    "tests/examples/test_workflow.py": 31,
    "tests/integration/test_forty_machines.py": 30,
    "tests/unit/tasks/test_lifecycle.py": 28,
    "tests/benchmarks/test_cost.py": 27,
    "tests/unit/engine/test_a_day_in_line.py": 24,
    "tests/contracts/test_task_store.py": 23,
    "tests/server/test_anything.py": 23,
    "tests/test_directions.py": 22,
    "tests/integration/test_sample_events.py": 21,
    "tests/benchmarks/test_end_to_end.py": 20,
    "tests/load/test_webhooks.py": 20,
}


def in_order(files: list[str]) -> list[int]:
    """Return the positions of the tests in the order to run them, given the file of each.

    After the files with a known time, those with the most tests come first. The tests of a file keep their order.
    """
    tests = Counter(files)
    return sorted(range(len(files)), key=lambda at: (-SECONDS.get(files[at], 0), -tests[files[at]], files[at]))
