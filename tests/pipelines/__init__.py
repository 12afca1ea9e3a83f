"""Workflows that the local stack cannot run by itself, and their stubs."""
