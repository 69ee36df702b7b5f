"""What could another order of tied documents change?"""
