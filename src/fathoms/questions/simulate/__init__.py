"""A collection of which the truth is known: the command; `data.simulate` makes it."""
