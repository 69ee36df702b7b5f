"""How precise do document scores need to be?"""
