"""Makes Claude Code transcripts smaller without a summary."""
