"""`python -m retrivex`: the command line."""

from retrivex.cli import main

if __name__ == "__main__":
    main()
