"""``python -m precall``: the command line."""

from precall.cli import main

if __name__ == "__main__":
    main()
