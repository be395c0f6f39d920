"""`python -m wefe` is `wefe`."""

from wefe.cli import main

main()
