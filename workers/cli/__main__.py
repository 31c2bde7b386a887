"""`python -m workers.cli` is `turnloom`."""

from workers.cli import main

main()
