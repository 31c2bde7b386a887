"""`python -m turnloom.workers.cli` is `turnloom`."""

from turnloom.workers.cli import main

main()
