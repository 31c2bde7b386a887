"""Turns go the whole way. The folder is a package, so that its stacks end with the last test."""
