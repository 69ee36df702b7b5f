"""Judgments, runs and how to read them, said once and aligned once."""
