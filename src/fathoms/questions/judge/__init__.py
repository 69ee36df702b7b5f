"""Which document next? The command; `judging` does the work."""
