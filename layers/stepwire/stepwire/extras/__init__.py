"""The extensions, each a folder or a file with all that it adds (`stepwire.server.extension`).

What a request does not use is imported when one does: the `__init__` of a folder imports its other modules in its
functions. An extension that most requests need is one file.
"""
