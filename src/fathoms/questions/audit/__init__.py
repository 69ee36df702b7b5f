"""Can this collection be trusted and reused?"""
