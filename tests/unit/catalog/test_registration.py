"""Registered tools: an invalid manifest disables only its own tool, and the owner of a state machine must consent."""

import json
from typing import Any, Final

import pytest

from stepwire.catalog.tools import TaskSupport, read_catalog
from stepwire.errors import CatalogError, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.manifests.published import (
    LARGEST_REFUSALS,
    LARGEST_SHARD,
    Compiled,
    Endpoint,
    Refusal,
    Registered,
    entries_in,
)
from stepwire.manifests.registration import CONSENT, LARGEST_DEFINITION, Compiler, Kind
from tests.kits import plan_of, state_machine_arn
from tests.unit.catalog.registrations import DEFINITION, PREFIX, Machines, compiled, express, reason, registered


def test_a_registered_tool_is_served_with_the_arn_of_its_state_machine() -> None:
    found = compiled(registered(state_machine="Settle"))

    (tool,) = read_catalog(found.shards()[0], {}).in_order

    assert (tool.name, tool.plan) == ("settle", plan_of(state_machine_arn("Settle")))
    assert found.refusals == ()


def test_a_version_or_alias_needs_the_consent_on_its_state_machine() -> None:
    alias = state_machine_arn("Settle") + ":live"
    machines = Machines(kinds={alias: Kind.STANDARD})

    found = compiled(registered(state_machine=alias), machines=machines)

    assert found.tools["settle"].tool.plan == plan_of(alias)
    assert machines.described == [alias]


BROKEN: Final[dict[str, tuple[Registered, str]]] = {
    "no YAML": (registered("a: [b"), "line 1"),
    "empty": (registered(""), "the file is empty"),
    "a bomb of aliases": (registered("a: &a [x]\nb: [*a, *a]"), "line 2: aliases (*name) are not supported"),
    "a SecureString": (registered("# a SecureString is not read: use the type String"), "empty"),
    "an unknown field": (registered(descriptoin="x"), "descriptoin: unknown field; did you mean description?"),
    "half a character": (registered(title="\ud800"), "no JSON"),
    "a schema that is none": (registered(output_schema={"type": "int"}), "write 'integer'"),
    "a schema that is too large": (
        registered(input_schema={"type": "object", "description": "x" * 33_000}),
        "larger than 32768 bytes",
    ),
    "another name": (registered(name="other"), "'other' must be the last part of the parameter's name, 'settle'"),
    "another account": (
        registered(state_machine=state_machine_arn("Settle").replace("123456789012", "999999999999")),
        "is in another account or Region",
    ),
    "a Lambda function": (registered(state_machine="arn:aws:lambda:eu-central-1:123456789012:function:f"), "neither"),
    "an internal field": (registered(confirm={"message": "Sure?", "key": "a b"}), "confirm.key"),
    "the type of its state machine": (registered(express=True), "express: unknown field"),
    "what names its version": (registered(digest="0" * 32), "digest: unknown field"),
    "where it comes from": (registered(source="functions/mcp/tools/a.yaml"), "source: unknown field"),
    "a time in the compiled form": (registered(ttl_ms=1), "ttl_ms: unknown field"),
    "a bucket by its URL": (registered(result_bucket="s3://internal"), "result_bucket: must be the name of a bucket"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_invalid_manifest_disables_only_its_own_tool_with_a_reason(how: str) -> None:
    bad, words = BROKEN[how]

    found = compiled(bad, registered(tool="fine", name="fine"))

    assert set(found.tools) == {"fine"}
    assert words in reason(found)
    assert found.refusals[0].source == "/stepwire/mine/tools/settle"


@pytest.mark.parametrize("how", BROKEN)
def test_the_last_valid_manifest_continues_to_serve(how: str) -> None:
    before = compiled(registered())

    after = compiled(BROKEN[how][0], previous=before)

    assert after.tools == before.tools
    assert after.refusals[0].serves_previous


@pytest.mark.parametrize(
    ("machines", "words"),
    [
        (Machines(consenting=set()), "with the tag stepwire:endpoint=mine: its owner adds the tag"),
        (Machines(kinds={}), "there is no arn:aws:states"),
    ],
    ids=["no consent", "removed"],
)
def test_a_state_machine_that_cannot_be_started_is_not_served(machines: Machines, words: str) -> None:
    found = compiled(registered(), machines=machines)

    assert found.tools == {}
    assert words in reason(found)


@pytest.mark.parametrize(("text", "recheck"), [(None, True), (None, False), ("a: [b", False)])
def test_a_tool_without_consent_is_removed_whether_or_not_its_manifest_is_valid(
    text: str | None, recheck: bool
) -> None:
    before = compiled(registered())

    after = compiled(registered(text), machines=Machines(consenting=set()), previous=before, recheck=recheck)

    assert after.tools == {}
    assert not after.refusals[0].serves_previous


# M5: another team's manifest of the same machine is without the first one's scopes, confirmation and constants
@pytest.mark.parametrize(
    ("tag", "is_served"), [(None, True), ("settle", True), ("pay settle", True), ("pay", False), ("settle2", False)]
)
@pytest.mark.parametrize("recheck", [True, False])
def test_the_second_tag_names_the_tools_that_may_start_a_machine(
    tag: str | None, is_served: bool, recheck: bool
) -> None:
    before = compiled(registered())

    for previous in (None, before):
        found = compiled(registered(), machines=Machines(tools=tag), previous=previous, recheck=recheck)

        assert set(found.tools) == ({"settle"} if is_served else set())
        assert is_served or "the tag stepwire:tools of" in reason(found)


def test_a_tool_is_kept_while_aws_is_unavailable() -> None:
    before = compiled(registered())

    after = compiled(registered(title="New"), machines=Machines(silence=WorkflowsUnavailable()), previous=before)

    assert after.tools == before.tools
    assert "tried again later" in reason(after)


def test_a_deregistered_tool_is_removed_without_a_log_line() -> None:
    before = compiled(registered())

    assert compiled(previous=before) == Compiled({})


def test_only_the_schedule_checks_unchanged_state_machines_again() -> None:
    before = compiled(registered())
    machines = Machines()

    compiled(registered(), machines=machines, previous=before)
    on_event = list(machines.described)
    compiled(registered(), machines=machines, previous=before, recheck=True)

    assert on_event == []
    assert machines.described == [state_machine_arn("Settle")]


def test_a_tool_with_scopes_is_not_served_if_scopes_are_not_checked() -> None:
    found = compiled(registered(scopes=["refunds"]), checks_scopes=False)

    assert "the endpoint's sign-in knows no scopes" in reason(found)
    assert set(compiled(registered(scopes=["refunds"])).tools) == {"settle"}


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.long)])
def test_tools_of_8_kb_fit_into_the_items_of_the_table(count: int) -> None:
    names = [f"tool_{number:03}" for number in range(count)]
    filler = {f"property_{number}": {"type": "string", "description": "é" * 60} for number in range(40)}
    manifests = [
        registered(tool=name, name=name, input_schema={"type": "object", "properties": filler}) for name in names
    ]
    assert min(len(one.text.encode()) for one in manifests) > 8_192

    found = compiled(*manifests)

    shards = found.shards()
    assert max(len(shard.encode()) for shard in shards) < 409_600
    assert [name for shard in shards for name in entries_in(shard)] == names
    assert len(shards) * 500 / count < 100, "one BatchGetItem must read those of 500 tools"


def test_a_change_of_one_tool_does_not_change_the_other_shards() -> None:
    names = [f"tool_{number:03}" for number in range(100)]
    manifests = [registered(tool=name, name=name, description="x" * 9_000) for name in names]
    changed = [*manifests[:-1], registered(tool=names[-1], name=names[-1], description="y" * 9_000)]

    before, after = compiled(*manifests).shards(), compiled(*changed).shards()

    assert len(before) > 2
    assert before[:-1] == after[:-1]
    assert max(map(len, before)) < LARGEST_SHARD + 10_000


def test_any_number_of_reasons_fits_into_one_item() -> None:
    refusals = tuple(Refusal(f"tool_{number}", "s" * 1_000, "ü" * 10_000, False) for number in range(1_000))

    text = Compiled({}, refusals).refusals_text()

    assert len(text.encode()) < LARGEST_REFUSALS + 1_000
    assert len(json.loads(text)["refused"]) + json.loads(text)["left_out"] == 1_000


def test_an_express_state_machine_is_a_tool_that_never_is_a_task() -> None:
    found = compiled(registered(), machines=express())

    (tool,) = read_catalog(found.shards()[0], {}).in_order

    assert (tool.is_express, tool.task_support) == (True, TaskSupport.FORBIDDEN)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"task_support": "required"}, "task_support: a state machine of type EXPRESS never runs as a task"),
        ({"confirm": {"message": "Sure?"}}, "confirm: needs a task"),
        (
            {
                "idempotency": ["order"],
                "input_schema": {
                    "type": "object",
                    "properties": {"order": {"type": "string"}},
                    "required": ["order"],
                },
            },
            "idempotency: needs a task",
        ),
    ],
    ids=["a task", "a confirmation", "a key"],
)
def test_an_express_tool_cannot_have_what_needs_a_task(fields: dict[str, Any], words: str) -> None:
    standard, found = compiled(registered(**fields)), compiled(registered(**fields), machines=express())

    assert set(standard.tools) == {"settle"}
    assert found.tools == {}
    assert words in reason(found)


EXAMINED: Final[dict[str, tuple[Machines, str]]] = {
    "throttled": (Machines(silence=WorkflowsThrottled()), "cannot be read now; tried again later"),
    "refused for good": (Machines(silence=CatalogError("state_machine: x may not be described")), "may not be"),
    "no JSON": (Machines(definition="{"), "its definition cannot be read"),
    "no states": (Machines(definition="[]"), "its definition cannot be read: it has no States"),
    "more than a definition may have": (Machines(definition=" " * (LARGEST_DEFINITION + 1)), "has 1048577 bytes"),
}


@pytest.mark.parametrize("how", EXAMINED)
def test_a_state_machine_that_cannot_be_examined_keeps_the_last_good_tool_and_says_why(how: str) -> None:
    machines, words = EXAMINED[how]
    before = compiled(registered())

    after = compiled(registered(title="New"), machines=machines, previous=before)

    assert after.tools == before.tools
    assert after.refusals[0].serves_previous
    assert words in reason(after)


def test_a_throttled_description_says_so() -> None:
    class Throttled(Machines):
        def tags_of(self, arn: str, role: str, *, serves: bool) -> dict[str, str]:
            return {CONSENT: "mine"}

    found = compiled(registered(), machines=Throttled(silence=WorkflowsThrottled()))

    assert "because Step Functions throttles this account; tried again later" in reason(found)


def test_a_definition_of_1_mb_is_examined() -> None:
    filled = DEFINITION[:-1] + ', "Comment": "' + "x" * (LARGEST_DEFINITION - 200) + '"}'

    assert set(compiled(registered(), machines=Machines(definition=filled)).tools) == {"settle"}


@pytest.mark.parametrize("recheck", [False, True])
def test_a_name_that_the_release_has_is_refused_and_its_owner_reads_why(recheck: bool) -> None:
    before = compiled(registered(), registered(tool="other", name="other"))
    compiler = Compiler(Endpoint("mine", PREFIX, True), Machines(), recheck, {"settle": "functions/mcp/tools/s.yaml"})

    found = compiler.compile([registered(), registered(tool="other", name="other")], before.tools)

    assert set(found.tools) == {"other"}, "not even the last good one: nobody would be served it"
    assert "'settle' is a tool of the endpoint's own release (functions/mcp/tools/s.yaml)" in reason(found)
    assert "one under another name" in reason(found)
    assert not found.refusals[0].serves_previous


def test_a_name_that_the_release_gives_up_is_served_again() -> None:
    taken = Compiler(Endpoint("mine", PREFIX, True), Machines(), False, {"settle": "a.yaml"}).compile(
        [registered()], {}
    )

    assert set(compiled(registered(), previous=taken).tools) == {"settle"}


# --------------------------------------------------------------------------------------------------------------- roles

FOREIGN: Final = "arn:aws:states:us-west-2:222222222222:stateMachine:Settle"
ROLE: Final = "arn:aws:iam::222222222222:role/stepwire"


def foreign(**more: Any) -> Machines:
    return Machines(kinds={FOREIGN: Kind.STANDARD}, consenting={FOREIGN}, **more)


@pytest.mark.parametrize("allowed", [ROLE, "arn:aws:iam::222222222222:role/step*"])
def test_a_state_machine_of_another_account_and_region_is_served_under_a_role_that_is_allowed(allowed: str) -> None:
    found = compiled(registered(state_machine=FOREIGN, role=ROLE), machines=foreign(), roles=(allowed,))

    (tool,) = read_catalog(found.shards()[0], {}).in_order
    assert tool.plan == plan_of(FOREIGN, ROLE)


@pytest.mark.parametrize(
    ("role", "allowed", "words"),
    [
        (None, (ROLE,), "can be started without a role"),
        (ROLE, (), "its operator adds it to WorkflowRoleArns"),
        (ROLE, ("arn:aws:iam::222222222222:role/other",), "its operator adds it to WorkflowRoleArns"),
        ("arn:aws:iam::333333333333:role/stepwire", ("arn:aws:iam::*",), "must be of the state machine's account"),
        ("stepwire", (ROLE,), "role: "),
    ],
)
def test_no_other_role_is_assumed(role: str | None, allowed: tuple[str, ...], words: str) -> None:
    fields = {} if role is None else {"role": role}

    found = compiled(registered(state_machine=FOREIGN, **fields), machines=foreign(), roles=allowed)

    assert found.tools == {}
    assert words in reason(found)


@pytest.mark.parametrize(
    ("machines", "words"),
    [
        (Machines(kinds={FOREIGN: Kind.STANDARD}, consenting=set()), "its owner adds the tag"),
        (
            Machines(kinds={FOREIGN: Kind.EXPRESS}, consenting={FOREIGN}),
            "must be of the endpoint's own account and Region",
        ),
    ],
    ids=["without the tag", "of type EXPRESS"],
)
def test_a_state_machine_elsewhere_needs_the_tag_and_is_of_type_standard(machines: Machines, words: str) -> None:
    found = compiled(registered(state_machine=FOREIGN, role=ROLE), machines=machines, roles=(ROLE,))

    assert found.tools == {}
    assert words in reason(found)


def test_a_role_that_may_not_be_assumed_keeps_the_last_good_tool_and_says_why() -> None:
    one = registered(state_machine=FOREIGN, role=ROLE)
    before = compiled(one, machines=foreign(), roles=(ROLE,))

    class Denied(Machines):
        def tags_of(self, arn: str, role: str, *, serves: bool) -> dict[str, str]:
            raise CatalogError(f"role: {role} must allow the endpoint to assume it")

    after = compiled(one, machines=Denied(), previous=before, recheck=True, roles=(ROLE,))

    assert after.tools == before.tools
    assert "must allow the endpoint to assume it" in reason(after)
