"""What the extras of an endpoint add to reading and writing manifests: a folder for each.

The rule: what is here is there. Nothing else of the package names an extra.
"""
