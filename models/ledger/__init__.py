"""The ledger is the durable record, with one module per noun. All SQL is here, but for that on packs' own tables.

Functions take an open session and never commit.
The functions of the hot path take the driver's connection instead, which `models.connections.database.statement` lends.
Each is one prepared call of a function in transitions/, by its name, and its own transaction.
"""
