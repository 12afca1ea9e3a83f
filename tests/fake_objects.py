"""Objects in S3, in memory."""

from dataclasses import dataclass, field

from stepwire.errors import ObjectsUnavailable, ObjectUnreadable


@dataclass
class FakeObjects:
    """What workflows have left in buckets."""

    contents: dict[tuple[str, str], bytes] = field(default_factory=dict[tuple[str, str], bytes])
    """By bucket and key."""
    read: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What was asked for."""
    is_available: bool = True

    def __call__(self, bucket: str, key: str, most: int) -> bytes:
        self.read.append((bucket, key))
        if not self.is_available:
            raise ObjectsUnavailable
        if (bucket, key) not in self.contents:
            raise ObjectUnreadable("there is no such object")
        content = self.contents[bucket, key]
        if len(content) > most:
            raise ObjectUnreadable(f"it has {len(content):,} bytes, and at most {most:,} can be returned")
        return content
