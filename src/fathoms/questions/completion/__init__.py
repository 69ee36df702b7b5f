"""Completing commands in a shell."""
