"""The program of docs/clients.md runs as it stands, with the library that it is for."""

import subprocess

from packages.client.tests.test_client_page import SERVED, TOOLS, examples
from tests.clients.endpoint import served
from tests.clients.programs import LEGACY_PYTHON
from tests.waiting import HANG_GUARD


def test_the_program_answers_the_question_and_prints_the_result() -> None:
    (program,) = examples("docs/clients.md")
    assert SERVED in program

    with served(TOOLS) as there:
        command = [str(LEGACY_PYTHON), "-c", program.replace(SERVED, there.url)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=HANG_GUARD, check=False)

    assert "'action': 'accept'" in ended.stdout, ended.stderr
