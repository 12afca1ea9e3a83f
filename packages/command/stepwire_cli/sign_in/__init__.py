"""How an MCP host signs in to a server: what the server and its issuer publish, and what each host demands of it.

`hosts` and `issuers` are tables of facts, each with its source. `rules` decides from them, without network and clock.
Only `fetching` opens connections. Nothing is changed, and no account is asked; `account.sign_in` does that.
"""
