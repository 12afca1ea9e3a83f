"""The terminal output of a running stack: screen, logs, and the end of the command."""
