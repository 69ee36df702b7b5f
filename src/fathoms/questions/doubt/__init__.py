"""How sure is this number, what makes it unsure, and what would help most?"""
