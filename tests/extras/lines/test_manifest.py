"""The fields of a manifest that limit how many executions run at once: their faults say what is right."""

import pytest

from tests.unit.catalog.registrations import compiled, express, reason, registered
from tests.unit.catalog.test_faults_of_manifests import faults_of, manifest_with


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("limit: {at_once: 2}", "limit: unknown field; did you mean concurrency?"),
        ("concurrency: {}", "concurrency: limits nothing: give most or start, or with pool a tool that does"),
        ("concurrency: {most: 0}", "concurrency.most: must be at least 1"),
        ("concurrency: {most: 3, reserved: 3}", "concurrency: at reserved: must be less than most"),
        ("concurrency: {start: {most: 5, every: PT1M}, reserved: 1}", "at reserved: must be less than most"),
        ("concurrency: {pool: ware house}", "concurrency.pool: must be 1 to 128 letters, digits"),
        ("concurrency: {pool: settle}", "at concurrency.pool: is this tool itself: leave it out"),
        ("concurrency: {pool: ship, most: 1}", "the sharing are of ship: leave out most"),
        ("concurrency: {most: 1, shared_with: [a*b]}", "concurrency.shared_with.0: must be the name of a tool, or the"),
        ("concurrency: {most: 1, start: {most: 5}}", "concurrency.start.every: is missing"),
        ("concurrency: {most: 1, start: {most: 301, every: PT1M}}", "concurrency.start.most: must be at most 300"),
        ("concurrency: {most: 1, queue: {longest: P366D}}", "concurrency.queue.longest: must be at most 365 days"),
        ("concurrency: {most: 1, per: nobody}", "at concurrency.per: 'nobody' is no property of input_schema"),
        ("concurrency: {most: 1, per: note}", "at concurrency.per: 'note' is not required by input_schema"),
        ("concurrency: {most: 1, per: part}", "at concurrency.per: 'part' may be nested: a line is made of"),
        ("concurrency: {most: 1, quene: {most: 5}}", "concurrency.quene: unknown field; did you mean queue?"),
    ],
)  # fmt: skip
def test_each_mistake_is_answered_with_what_is_right(lines: str, fault: str) -> None:
    (found,) = faults_of(manifest_with(lines))

    assert fault in found


def test_an_express_tool_has_no_limit() -> None:
    assert "concurrency: needs a task" in reason(compiled(registered(concurrency={"most": 1}), machines=express()))
    assert not compiled(registered(concurrency={"most": 1})).refusals
