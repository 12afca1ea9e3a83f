"""A stack loses its lines while calls wait in one, and gets them back: no call is lost, and the limit holds again."""

from msgspec.structs import replace

from stepwire.background.execution_events import ExecutionEvents
from stepwire.engine.assembly import assemble
from stepwire.extras.lines.rules import MEND_PAUSE
from tests.extras.lines.test_turns import call, end, message, running
from tests.kits import ALICE, World


def test_calls_in_line_begin_without_lines_and_the_line_is_right_when_it_is_back() -> None:
    world = World()
    first, second, third = call(world), call(world), call(world)
    with_lines, without = world.events, assemble(replace(world.ports, gate=None))

    world.events = ExecutionEvents(without)
    world.clock.time += world.intervals.repair
    meanwhile = [without.operations.get(ALICE, one.task_id) for one in (second, third)]
    began = sorted(running(world))
    end(world, first)
    end(world, second)
    world.events = with_lines
    world.clock.time += MEND_PAUSE
    fourth = call(world)
    said = message(world, fourth)
    end(world, third)
    world.clock.time += max(MEND_PAUSE, world.intervals.repair)
    world.operations.get(ALICE, fourth.task_id)

    assert [one.status.message for one in meanwhile] == [None, None]
    assert (said or "").startswith("Next in line")
    assert began == sorted(one.task_id for one in (first, second, third))
    assert running(world) == [fourth.task_id]
    assert [world.stored(one).has_ended for one in (first, second, third)] == [True] * 3
    assert world.faults == world.troubles == []
