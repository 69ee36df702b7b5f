"""How many topics and judgments will it take?"""
