"""For the test of the demo: patterns of lines that it shows of the extra."""

from typing import Final

SHOWN: Final = (r"A chair is reserved, and nobody polled for it\.",)
