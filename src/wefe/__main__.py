"""Run the command line: ``python -m wefe`` is the same as ``wefe``."""

from wefe.cli import main

if __name__ == "__main__":
    main()
