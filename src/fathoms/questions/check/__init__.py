"""Is every file sound?"""
