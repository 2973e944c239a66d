"""The command: one session made smaller, shown, listed or undone from a terminal."""
