"""How much depends on the depth of evaluation?"""
