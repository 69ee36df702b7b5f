"""Which documents are to be judged?"""
