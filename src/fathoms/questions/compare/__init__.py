"""Is A better than B, and will it stay so?"""
