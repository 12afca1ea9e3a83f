"""For the tests of sample events: those of the page for approvers, and what is told of questions."""

from typing import Final

from tests.integration.samples import OfExtra, Sample

_FOLDER: Final = "extras/approvals"
SAMPLES: Final = OfExtra(
    {
        # Nobody made the link of these events, so there is no such question.
        f"{_FOLDER}/http_get_approval": Sample("ApprovalsFunction", {"statusCode": 404}),
        f"{_FOLDER}/http_post_approval": Sample("ApprovalsFunction", {"statusCode": 404}),
    },
    published=frozenset({f"{_FOLDER}/question_asked", f"{_FOLDER}/question_closed"}),
)
