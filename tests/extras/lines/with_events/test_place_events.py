"""MCP Events by poll: what a caller hears of a place in line."""

from datetime import timedelta
from itertools import pairwise

from msgspec.structs import replace

from stepwire.extras.events.events import STATUS_CHANGED
from stepwire.extras.lines.places import IN_LINE
from stepwire.rendering import timestamp
from stepwire.tasks.line import InLine
from tests.changes import saved
from tests.extras.events.test_polls import names, poll, tell
from tests.kits import World
from tests.server.clients import ModernClient


def test_a_place_is_no_change_of_status(modern: ModernClient, world: World) -> None:
    task = world.call()
    first = poll(modern).result["cursor"]

    tell(world, saved(task, replace(task, version=2, in_line=InLine(3))))

    assert {name: names(poll(modern, name, first)) for name in (IN_LINE, STATUS_CHANGED)} == {
        IN_LINE: ["working"],
        STATUS_CHANGED: [],
    }


def test_a_place_in_line_is_told_each_time_that_half_of_the_way_is_done(modern: ModernClient, world: World) -> None:
    task, begins_at = world.call(), world.clock.now() + timedelta(minutes=4)
    cursor = poll(modern).result["cursor"]
    places = [None, *(InLine(position, begins_at) for position in range(1_000, 0, -1)), None]
    images = [replace(task, in_line=place, version=number) for number, place in enumerate(places)]

    for before, after in pairwise(images):
        tell(world, saved(before, after))
    told = [one["data"] for one in poll(modern, IN_LINE, cursor).result["events"]]

    assert [one["position"] for one in told] == [1_000, 511, 255, 127, 63, 31, 15, 7, 3, 1, 0]
    assert [one.get("beginsAt") for one in told] == [*[timestamp(begins_at)] * 10, None]
