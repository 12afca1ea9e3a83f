"""What the first run of an account does not try."""

from typing import Final

from tools.first_run.trial import Sentence, Trial

TRIALS: Final[tuple[Trial, ...]] = ()
NOT_TRIED: Final = {Sentence("docs/extras/events.md", ""): "needs the accounts of other hosts"}
