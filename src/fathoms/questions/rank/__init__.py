"""Which rank does each run have, and which could it have?"""
