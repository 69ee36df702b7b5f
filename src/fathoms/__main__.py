"""`python -m fathoms` is the command `fathoms`."""

from fathoms.command import run

if __name__ == "__main__":
    run()
