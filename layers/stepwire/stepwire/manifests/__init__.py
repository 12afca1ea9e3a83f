"""The compiler of manifests: from what owners of tools write to the tools that are served.

Function catalog and the command read it, with YAML and pydantic. No function that a client waits for imports it: what
those read of its work is in `catalog`.
"""
