"""For the test of the demo: patterns of lines that it shows of the extra."""

from typing import Final

SHOWN: Final = (
    r" *\w{36} (Next|2nd|3rd) in line(; about .*)?\.",
    r"All 6 are reserved; \d of them waited for their turns\.",
)
