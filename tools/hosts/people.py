"""Who calls with a host, and who decides what the caller may not: two people, by tokens of a test issuer.

The second person has a client of the released Python SDK, which puts the question to them as a form.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from stepwire_client import Callbacks, connect
from stepwire_local.issuer import LocalIssuer

AUDIENCE: Final = "hosts"
_GROUPS: Final[Mapping[str, list[str]]] = {"alice": [], "ann": ["finance"]}
_SECONDS: Final = 60
_HOUR: Final = 3_600  # seconds


@dataclass(frozen=True)
class People:
    """The people at an endpoint."""

    issuer: LocalIssuer

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of an endpoint at which they sign in."""
        return {"Authorizer": "jwt", "JwtIssuer": self.issuer.url, "JwtAudience": AUDIENCE}

    def header_of(self, person: str) -> str:
        """Return what a person's client sends as the header Authorization."""
        known = {"iss": self.issuer.url, "sub": person, "aud": AUDIENCE, "exp": int(time.time()) + _HOUR}
        return f"Bearer {self.issuer.sign({**known, 'cognito:groups': _GROUPS[person]})}"

    def decide(self, url: str) -> str:
        """Let Ann approve the question that waits for her, and return the form's text.

        Raises:
            TimeoutError: none waits for her within a minute.
        """
        return anyio.run(self._decide, url)

    async def _decide(self, url: str) -> str:
        asked = list[str]()

        async def approve(params: ElicitRequestParams) -> ElicitResult:
            assert isinstance(params, ElicitRequestFormParams)
            asked.append(params.message)
            return ElicitResult(action="accept", content={"amount": 600})

        headers = {"Authorization": self.header_of("ann")}
        async with connect(url, headers=headers, callbacks=Callbacks(elicit=approve)) as client:
            with anyio.fail_after(_SECONDS):
                found: list[Any] = []
                while not found:
                    listed = (await client.call_tool("approvals_list", {})).structured_content
                    found = listed["approvals"] if listed else []
                    await anyio.sleep(0.2)
                await client.call_tool("approval_answer", {"approval_id": found[0]["approvalId"]})
        return asked[0]
