"""The ledger: the durable record, and the only SQL. One module per noun; functions take an open session, never commit.

The functions of the hot path take the driver's connection instead, which `models.connections.database.statement`
lends: each is one call of a function in hot/, prepared, and a transaction of its own.
"""
