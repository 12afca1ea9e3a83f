"""A patch for each defect of moto 5.2.5 that matters here.

A patch is a function whose docstring says what it does (`Patch:`) and why (`Defect:`). It gets `replace(owner, name,
value)`; closing the account undoes the replacement. `PATCHES` lists the patches by name.
`packages/local/tests/account/test_patches_of_*.py` runs each proof twice: it must pass with the patch and fail without
it. After an upgrade of moto, a proof that passes without its patch shows that the patch can go.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from stepwire_local.account.moto_patches import (
    branches,
    buckets,
    callbacks,
    changes,
    dispatch,
    distributed_maps,
    dynamodb,
    events,
    executions,
    express,
    expressions,
    functions,
    integrations,
    intrinsics,
    jsonata,
    paths,
    streams,
    stubs,
    topics,
    versions,
    waits,
)

Replace = Callable[[object, str, object], None]
Patch = Callable[[Replace], None]

_ALL: tuple[Patch, ...] = (
    *executions.PATCHES,
    *express.PATCHES,
    *versions.PATCHES,
    *callbacks.PATCHES,
    *branches.PATCHES,
    *paths.PATCHES,
    *integrations.PATCHES,
    *stubs.PATCHES,
    *distributed_maps.PATCHES,
    *jsonata.PATCHES,
    *intrinsics.PATCHES,
    *functions.PATCHES,
    *events.PATCHES,
    *topics.PATCHES,
    *buckets.PATCHES,
    *dynamodb.PATCHES,
    *expressions.PATCHES,
    *dispatch.PATCHES,
    *changes.PATCHES,
    *streams.PATCHES,
    *waits.PATCHES,
)
PATCHES: dict[str, Patch] = {patch_function.__name__: patch_function for patch_function in _ALL}

FOR_UPSTREAM = frozenset(
    {
        *(
            "definitions_are_read_apart",
            "names_are_made_up_and_unique",
            "inputs_are_checked",
            "errors_carry_their_code",
        ),
        *("stopping_is_immediate", "describing_tells_all", "history_comes_in_pages", "history_can_leave_out_data"),
        *("express_executions_are_their_own", "the_context_tells_of_the_execution", "versions_and_aliases_are_started"),
        *("tokens_count_once", "heartbeats_find_their_task", "tokens_live_for_one_attempt"),
        *("early_answers_end_the_wait", "error_names_may_be_anything", "errors_of_branches_keep_their_names"),
        *("definite_paths_give_one_value", "choices_compare_with_the_context", "parameters_are_spelled_either_way"),
        *("dynamodb_tells_of_its_response", "results_are_written", "failed_expressions_have_their_error"),
        *("expressions_may_name_their_context", "texts_may_have_quotes", "missed_heartbeats_have_two_names"),
        *("choices_need_their_paths", "times_may_have_fractions_and_offsets"),
        *("choices_fail_with_their_errors", "intrinsic_functions_fail_with_their_error"),
        *("changes_of_parameters_are_events", "changes_of_tags_are_events"),
        *("values_of_parameters_have_a_limit", "values_of_parameters_name_no_other"),
        *("expressions_are_walked_quickly", "trees_are_checked_from_their_root", "texts_are_compared_as_they_are"),
        *("conditions_are_parsed_once", "updates_are_parsed_once", "operations_are_listed_once"),
        *("accounts_are_found_at_once", "answers_are_made_once", "paths_are_parsed_once"),
        *("calls_take_turns", "transactions_copy_what_they_write", "changes_are_recorded_once"),
    }
)
"""Patches of plain defects, which moto could take with their proofs; the others are about this local stack."""


# The replacements of each patch that is in force.
_replaced: dict[str, list[tuple[object, str, object]]] = {}


@contextmanager
def applied(*, without: Collection[str] = ()) -> Generator[None]:
    """Apply every patch except those in `without`, until the block ends.

    A nested block applies nothing again; it lifts the patches that it names until it ends.
    """
    with ExitStack() as undo:
        for name, apply in PATCHES.items():
            if name in _replaced:
                if name in without:
                    _lift(name, undo)
            elif name not in without:
                _replaced[name] = []
                undo.callback(_replaced.pop, name)
                apply(_replacer(name, undo))
        yield


def _replacer(name: str, undo: ExitStack) -> Replace:
    def replace(owner: object, attribute: str, value: object) -> None:
        original = getattr(owner, attribute, None)
        undo.enter_context(patch.object(owner, attribute, value, create=True))
        _replaced[name].append((owner, attribute, original))

    return replace


def _lift(name: str, undo: ExitStack) -> None:
    for owner, attribute, original in _replaced[name]:
        undo.enter_context(patch.object(owner, attribute, original))
