"""Which measures are there? The command."""
