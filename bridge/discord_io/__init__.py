"""Everything that talks to Discord: messages in (once each), replies out (none lost)."""
