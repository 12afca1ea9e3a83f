"""For the tests of sample events: those of a REST API."""

from typing import Final

from tests.integration.samples import OfExtra, Sample
from tests.integration.stacks import SIGN_IN

_FOLDER: Final = "extras/door"
SAMPLES: Final = OfExtra(
    {
        f"{_FOLDER}/rest_get_metadata": Sample("MetadataFunction", {"statusCode": 200}, parameters=SIGN_IN),
        f"{_FOLDER}/rest_post_iam": Sample("McpFunction", {"statusCode": 200}, parameters=SIGN_IN),
        # Whoever reads the events has no key of an issuer, so the token is none.
        f"{_FOLDER}/token_to_verify": Sample("AuthorizerFunction", {"principalId": "caller"}, parameters=SIGN_IN),
    },
    parameters={"FrontDoor": "rest"},
    by_name=frozenset({"AuthorizerFunction"}),
)
