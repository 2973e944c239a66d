"""`python -m compaction`: make a session smaller from a terminal."""

import sys

from compaction.command.run import main

if __name__ == "__main__":
    sys.exit(main())
