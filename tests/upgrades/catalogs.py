"""The catalog of registered tools as this version publishes it: one tool for each kind of field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import JsonObject, load_json, write
from stepwire.manifests.published import Endpoint, Registered
from stepwire.manifests.registration import CONSENT, Compiler, Examined, Kind
from tests.kits import state_machine_arn

ROLE: Final = "arn:aws:iam::222222222222:role/stepwire"
EXPRESS: Final = state_machine_arn("Express")
MANIFESTS: Final[dict[str, JsonObject]] = {
    "plain": {},
    "with_context": {"context": {"input_key": "caller", "claims": ["email"]}},
    "with_constants": {"input": {"constants": {"region": "eu"}}},
    "with_a_form": {"output": {"structured": "@"}},
    "express": {"state_machine": EXPRESS},
    "express_with_a_form": {"state_machine": EXPRESS, "output": {"structured": "@"}},
    "racing": {
        "state_machine": None,
        "race": {
            "arms": [
                {"name": "a", "state_machine": "A", "constants": {"region": "eu"}},
                {"name": "b", "state_machine": "B", "delay": "PT5S"},
            ]
        },
    },
    "retried": {"retry": {"attempts": 3, "errors": ["OutOfStock"]}},
    "leaving": {"result_bucket": "my-reports", "output": {"object": "result"}},
    "elsewhere": {"state_machine": "arn:aws:states:us-west-2:222222222222:stateMachine:Settle", "role": ROLE},
}
"""What each tool's manifest has beside the necessary."""
_NECESSARY: Final[JsonObject] = {
    "description": "Settles.",
    "state_machine": "Settle",
    "input_schema": {"type": "object"},
}


@dataclass(frozen=True)
class _Machines:
    """State machines whose owners all consent; the one named `EXPRESS` is of that type."""

    def tags_of(self, arn: str, role: str, *, serves: bool) -> dict[str, str]:
        return {CONSENT: "mine"}

    def examine(self, arn: str, role: str) -> Examined:
        return Examined(Kind.EXPRESS if arn == EXPRESS else Kind.STANDARD, write({"States": {}}))


def catalog_shards(manifests: Mapping[str, JsonObject]) -> list[JsonObject]:
    """Compile manifests, and return the shards of the catalog, parsed."""
    registered = [
        Registered(name, f"/stepwire/mine/tools/{name}", write({"name": name, **_NECESSARY, **more}))
        for name, more in manifests.items()
    ]
    endpoint = Endpoint("mine", state_machine_arn(""), checks_scopes=True, roles=(ROLE,))
    compiled = Compiler(endpoint, _Machines(), recheck=False).compile(registered, {})
    return [load_json(shard) for shard in compiled.shards()]
