"""`python -m fathoms` is the command `fathoms`."""

from fathoms.cli.app import main

if __name__ == "__main__":
    main()
