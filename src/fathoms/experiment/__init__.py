"""Judgments, runs and how to read them: stated once, aligned once."""
