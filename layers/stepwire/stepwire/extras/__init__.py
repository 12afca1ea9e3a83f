"""The extras: what an endpoint can do without. Each is a folder with all that it adds (`stepwire.hooks`).

The rule: an extra imports the core and no other extra, and the core imports none. The `__init__` of a folder holds the
hooks alone; its functions import the rest on first use.
"""
