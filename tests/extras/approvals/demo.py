"""For the test of the demo: patterns of lines that it shows of the extra."""

from typing import Final

SHOWN: Final = (
    r".*Waits for one of finance to decide.*",
    r"Ann of finance approved, .* UTC\. The caller was not asked\.",
)
