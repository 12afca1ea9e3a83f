"""The page on which people other than the caller decide questions, without a client of MCP: its links, forms and HTML.

No AWS and no sockets but in `handler`, which brings the store, the secret, and what signs people in. The rule: reading
changes nothing, because scanners of mail and previews read every link; only a POST from the page votes.
"""
