"""What of callers is in use: the list of those whom an operator has blocked."""

from typing import Final

from stepwire.extras.callers.storage import LIST, hashes_in
from stepwire_cli.deployment.in_use import Contents, Use


def _blocked(contents: Contents) -> str:
    is_list = {":pk": LIST["pk"], ":sk": LIST["sk"]}
    found = contents.items("Query", KeyConditionExpression="pk = :pk AND sk = :sk", ExpressionAttributeValues=is_list)
    return found.count(lambda item: len(hashes_in(item)))


USES: Final = (
    Use(
        "blocked callers",
        "they get in again. The list stays, and holds again when the extra is back.",
        "Lock them out where they sign in first, or keep the extra.",
        _blocked,
    ),
)
