"""The foundation: data shapes, tables, the ledger, settings. It imports no other package of ours."""
