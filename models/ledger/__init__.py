"""The ledger is the durable record, and the only SQL, with one module per noun.

Functions take an open session and never commit.
The functions of the hot path take the driver's connection instead, which `models.connections.database.statement` lends.
Each is one prepared call of a function in transitions/, by its name, and its own transaction.
"""
