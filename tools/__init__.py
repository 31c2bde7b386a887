"""The tools that a plan may call: the registry, the runner, and one folder per pack."""
