"""How fast it is, each figure as a ratio to a baseline that runs in the same minute. `make bench`."""
