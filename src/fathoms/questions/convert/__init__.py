"""The same runs or judgments in another format: the command."""
