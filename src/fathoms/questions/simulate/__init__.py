"""A collection whose truth is known: the command; `data.simulate` makes it."""
