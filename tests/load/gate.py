"""The tokens of the workflows that wait at the gate: functions run in the process of the stack, so its function and
whoever opens the gate share this.
"""

from queue import SimpleQueue

tokens: SimpleQueue[str] = SimpleQueue()
