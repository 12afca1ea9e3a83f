"""The first run in an account: it tries what the pages call "not tried", and removes all that it made.

The rule: nothing is made before its name is in the journal, and a trial changes only what the run has made.
"""
