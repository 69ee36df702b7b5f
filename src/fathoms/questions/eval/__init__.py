"""How high does each run score, and how far could that move?"""
