"""The table of trials, in the order in which they run, and what pages call not tried that no trial can try.

The rule: each sentence is on its page word for word, and each page that says "not tried" is here; tests compare.
"""

from collections.abc import Mapping
from typing import Final

from tests.extras import parts
from tools.first_run import changing, keys, permissions, restoring, watching
from tools.first_run.trial import Sentence, Trial

DEPLOYING: Final = "docs/deploying.md"
_OF_EXTRAS: Final = parts("first_run")

TRIALS: Final[tuple[Trial, ...]] = (
    Trial(
        "permissions to deploy",
        (
            Sentence(DEPLOYING, "**It was not tried in an account**"),
            Sentence(
                "docs/decisions/0026-names-and-consent.md",
                "Not tried on an account: EventBridge's cost of the `wildcard` in `ProgressRule`",
            ),
        ),
        "a role of its own gets the actions of the page and no other, and deploys",
        "CloudFormation makes every resource, the rule with two wildcards too",
        permissions.deploy,
        minutes=8,
        most=30,
    ),
    Trial(
        "event delays",
        (Sentence("docs/performance.md", "The endpoint and the examples run on the local stack"),),
        f"{len(watching.SECONDS) * 2} tasks of 2 to 11 seconds, polled as hinted",
        f"each end is recorded within {watching.LATEST:g} seconds",
        watching.delays,
        minutes=3,
        most=10,
    ),
    Trial(
        "tags",
        (
            Sentence(
                "docs/adopting.md",
                'Not tried on an account: how soon "Tag Change on Resource" arrives for Step Functions, and how far '
                "`tag:GetResources` lags behind.",
            ),
        ),
        "a state machine gets a tag",
        "the event and the list come within minutes",
        watching.tags,
        minutes=5,
        most=20,
    ),
    Trial(
        "a state machine's key",
        (
            Sentence("docs/adopting.md", "Not tried on an account: which of the two actions each call needs."),
            Sentence("docs/decisions/0028-state-machines-as-they-are.md", "which KMS actions each call needs"),
        ),
        "each call of an encrypted state machine, with none of the two rights on its key, with one, and with both",
        "both are enough for each call",
        keys.of_a_state_machine,
        minutes=4,
        most=15,
    ),
    Trial(
        "a key of the endpoint's",
        (
            Sentence(
                DEPLOYING, "The key's policy must allow the account's IAM policies (KMS's default statement) and two"
            ),
        ),
        "the endpoint takes a key with the page's policy, runs a task, and gives the key back",
        "the table is encrypted with it, and the task ends",
        keys.of_the_endpoint,
        minutes=10,
        most=40,
    ),
    Trial(
        "SnapStart",
        (Sentence(DEPLOYING, "plus Lambda's time to restore the copy"),),
        "a version with a snapshot is published and called",
        "Lambda says that it is optimized, and its log how long a restore takes",
        changing.snap_start,
        minutes=12,
        most=45,
    ),
    Trial(
        "traces",
        (Sentence("docs/tracing.md", "None of this was tried on an account."),),
        "with `Tracing=Active`, a call sends a `traceparent`",
        "the client's trace in X-Ray has the execution",
        watching.traces,
        minutes=6,
        most=20,
    ),
    Trial(
        "step-up",
        (
            Sentence(
                "docs/sign_in.md",
                "not tried in AWS: whether API Gateway accepts that header as a target, and whether it renames the "
                "result again.",
            ),
            Sentence("template.yaml", "Not tried in AWS yet (docs/sign_in.md)."),
        ),
        "an HTTP API maps the header as the release does, before a function that refuses",
        "clients get `www-authenticate`",
        changing.step_up,
        minutes=2,
        most=10,
    ),
    *(trial for part in _OF_EXTRAS for trial in part.TRIALS),
    Trial(
        "restore",
        (
            Sentence("docs/restoring.md", "**It has not been tried\non an account**"),
            Sentence("docs/upgrades.md", "To keep the tasks (not tried on an account)"),
        ),
        "steps 1 to 4 of a takeover, in one Region: export, import, a stack over it with the old salt",
        "the same caller reads an old task, and the table has what an import does not set",
        restoring.restore,
        minutes=30,
        most=120,
    ),
    Trial(
        "an idle hour",
        (
            Sentence(
                "docs/cost.md", "No bill of an account has confirmed them, because Stepwire has not run on one yet."
            ),
            Sentence(
                "README.md", "Stepwire has not run on an AWS account yet, so nothing was measured or billed there"
            ),
        ),
        "nobody calls; CloudWatch counts invocations and polls (`--idle-hour`: for an hour)",
        "no more than docs/cost.md counts",
        watching.idle_hour,
        minutes=25,
        most=75,
    ),
    Trial(
        "permissions to remove",
        (Sentence(DEPLOYING, "to remove an extra or what outlives the stack,\nthe last two rows"),),
        "the role of the first row removes the endpoint with its data",
        "nothing is left",
        permissions.remove,
        minutes=6,
        most=30,
    ),
)

NOT_TRIED: Final[Mapping[Sentence, str]] = {
    Sentence("docs/sign_in.md", "(options as those of `update-cimd-policy` in its reference; not tried;"):
        "no released SDK has the operations",
    Sentence("docs/agentcore.md", ""): "needs an AgentCore Gateway, and an issuer whose tokens it can exchange",
    Sentence("docs/compared.md", "We have not tried this at AWS."): "the same",
    Sentence("docs/decisions/0031-operations-are-included.md", "Not tried on an account."):
        "`sam deploy` uploads the file; the run deploys a release, which has it inside",
    Sentence("docs/decisions/0028-state-machines-as-they-are.md", "Not tried on an account: tag conditions"):
        "needs a nested state machine; without the right, the state machine is examined instead",
    Sentence("docs/decisions/0065-a-second-door.md", "None of this was tried on an account"): "the trials of doors do",
    Sentence("docs/decisions/0064-a-probe-and-an-audit-that-lasts.md", "nothing of it was tried on an account"):
        "Object Lock keeps its lines for days, so the run could not remove all",
    **{one: why for part in _OF_EXTRAS for one, why in part.NOT_TRIED.items()},
}  # fmt: skip
"""Why no trial tries a sentence; one without words stands for all of its page."""
