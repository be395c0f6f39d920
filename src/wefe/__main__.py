"""`python -m wefe` is `wefe`."""

from wefe.cli import main

if __name__ == "__main__":
    main()
