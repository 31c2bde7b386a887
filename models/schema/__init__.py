"""The database's schema: revisions, the functions of the hot path, roles and their rights."""
