"""Calls of a tool with a limit, which wait in line."""
