"""Trials of the first run of an account: the endpoint goes to another front door, and back."""

from typing import Final

import httpx

from tools.first_run.account import Account
from tools.first_run.trial import Seen, Sentence, Trial, not_here, so

_NO_LOGS: Final = "the account has no role for access logs of REST APIs (`aws apigateway get-account`)"
_CLOSED: Final = frozenset({"403", "no address"})


def rest_door(account: Account) -> Seen:
    """Put a REST API in place of the HTTP API, and go back; call each time."""
    if not _may_log(account):
        return not_here(_NO_LOGS)
    began = account.clock.now()
    with account.changed(FrontDoor="rest", EndpointUrl=_url(account)) as stack:
        account.called(account.served(stack))
        there = account.clock.now()
    account.called(account.serving())
    minutes = [f"{(end - start) / 60:.1f}" for start, end in ((began, there), (there, account.clock.now()))]
    return so(is_so=True, evidence=f"until a task ended, http to rest took {minutes[0]} minutes, and back {minutes[1]}")


def private_door(account: Account) -> Seen:
    """Make the API private, and look whether it is closed to this machine."""
    if not account.vpc_endpoint:
        return not_here("no VPC endpoint for execute-api was given: --vpc-endpoint vpce-... names one")
    if not _may_log(account):
        return not_here(_NO_LOGS)
    given = {"FrontDoor": "private", "VpcEndpointIds": account.vpc_endpoint, "EndpointUrl": _url(account)}
    with account.changed(**given) as stack:
        url, headers = account.address(stack)
        outside = _status(url, headers)
        inside = _status(url.replace(".execute-api", f"-{account.vpc_endpoint}.execute-api"), headers)
    return so(
        outside in _CLOSED,
        f"the API's own address answers {outside} here, and its address with the VPC endpoint {inside} "
        "(no address: this machine is not in the VPC)",
    )


def _may_log(account: Account) -> bool:
    return bool(account.emulated) or "cloudwatchRoleArn" in account.calls.call("apigateway", "GetAccount")


def _url(account: Account) -> str:
    return f"{account.emulated or f'https://{account.prefix}.example.com'}/mcp"


def _status(url: str, headers: dict[str, str]) -> str:
    try:
        return str(httpx.get(url, headers=headers, timeout=30).status_code)
    except httpx.HTTPError:
        return "no address"


TRIALS: Final = (
    Trial(
        "another front door",
        (Sentence("docs/extras/door.md", "None of these changes has been tried on an account."),),
        "`FrontDoor` goes from `http` to `rest` and back",
        "a task ends behind each",
        rest_door,
        minutes=10,
        most=40,
    ),
    Trial(
        "the private door",
        (Sentence("docs/extras/door.md", "the VPC endpoints in `VpcEndpointIds`; a resource policy denies all else"),),
        "`FrontDoor` goes to `private` with your VPC endpoint, and back",
        "the API's own address is closed to this machine",
        private_door,
        minutes=10,
        most=40,
    ),
)
NOT_TRIED: Final[dict[Sentence, str]] = {}
