"""In the place of pytest: its closing line, and the status that STANDIN_PYTEST says."""

import os
import sys

print("arguments:", *sys.argv[1:])  # noqa: T201 - a command line speaks to a terminal
print("===== 1 passed in 0.01s =====")  # noqa: T201
sys.exit(int(os.environ.get("STANDIN_PYTEST", "0")))
