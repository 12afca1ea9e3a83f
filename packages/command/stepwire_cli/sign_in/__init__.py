"""How an MCP host signs in to a server: what the server and its issuer publish, and what each host is configured with.

`findings` judges what they publish, without network and clock. Only `fetching` opens connections. Nothing is changed,
and no account is asked; `account.sign_in` does that.
"""
