"""Stay within the request quotas of AWS, which all callers of an account share.

Step Functions counts each API by a token bucket. A pacer keeps buckets of its own that are smaller, so that nobody else
who calls the same API is throttled. A throttled call empties the bucket and halves its refill; each call that works
gives a tenth back.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Quota:
    """A token bucket."""

    bucket: float
    """Calls at once."""
    refill: float
    """Calls a second after that."""


# Below the quotas of the smallest Regions: 200/20, 200/5, 250/10, 100/5, 100/1, 200/1 (bucket and refill a second);
# of the others, AWS says no bucket.
QUOTAS: Final[Mapping[str, Quota]] = {
    "stepfunctions:DescribeStateMachine": Quota(100, 15),
    "stepfunctions:ListExecutions": Quota(100, 4),
    "stepfunctions:DescribeExecution": Quota(200, 10),
    "stepfunctions:ListStateMachines": Quota(50, 4),
    "stepfunctions:ListTagsForResource": Quota(50, 1),
    "stepfunctions:TagResource": Quota(100, 1),
    "resourcegroupstaggingapi:GetResources": Quota(10, 10),
    "cloudformation:DescribeStackResource": Quota(15, 5),  # a trace asks for a dozen
    "cloudformation:ListStackResources": Quota(5, 5),
    "dynamodb:DeleteItem": Quota(200, 200),  # half of what a new partition takes, at two or three units each
    "s3:DeleteObject": Quota(200, 200),
    "ssm:GetParametersByPath": Quota(20, 20),
    "ssm:PutParameter": Quota(3, 3),
}
_ANY: Final = Quota(5, 5)
_SLOWEST: Final = 0.2  # calls a second


@dataclass
class _Bucket:
    quota: Quota
    left: float
    refill: float
    at: float


class Pacer:
    """Says when each call may be made. Threads may share one."""

    def __init__(
        self, now: Callable[[], float], sleep: Callable[[float], None], quotas: Mapping[str, Quota] = QUOTAS
    ) -> None:
        """Keep buckets that are full.

        Args:
            now: the time in seconds, which never goes back.
            sleep: waits for so many seconds.
            quotas: the bucket of each operation, as `service:Operation`.
        """
        self._now = now
        self._sleep = sleep
        self._quotas = quotas
        self._buckets: dict[str, _Bucket] = {}
        self._lock = threading.Lock()

    def take(self, operation: str) -> None:
        """Wait until the operation may be called once more."""
        with self._lock:
            bucket = self._filled(operation)
            bucket.left -= 1
            wait = max(0.0, -bucket.left / bucket.refill)
        if wait:
            self._sleep(wait)

    def throttled(self, operation: str) -> None:
        """Call an operation less often: somebody else uses its quota too."""
        with self._lock:
            bucket = self._filled(operation)
            bucket.left = min(bucket.left, 0.0)
            bucket.refill = max(bucket.refill / 2, _SLOWEST)

    def worked(self, operation: str) -> None:
        """Call an operation that was throttled a little more often again."""
        with self._lock:
            bucket = self._filled(operation)
            bucket.refill = min(bucket.refill + bucket.quota.refill / 10, bucket.quota.refill)

    def _filled(self, operation: str) -> _Bucket:
        now = self._now()
        quota = self._quotas.get(operation, _ANY)
        bucket = self._buckets.setdefault(operation, _Bucket(quota, quota.bucket, quota.refill, now))
        bucket.left = min(bucket.left + (now - bucket.at) * bucket.refill, quota.bucket)
        bucket.at = now
        return bucket
