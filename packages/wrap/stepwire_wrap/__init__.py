"""Describe state machines as tools: read definitions, templates and code, write manifests, and say what is wrong.

The rule: everything is read from files. Nothing here calls AWS, and nothing that is read is run.
"""
