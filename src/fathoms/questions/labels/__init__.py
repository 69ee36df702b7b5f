"""Can labels of a model stand in for people's?"""
