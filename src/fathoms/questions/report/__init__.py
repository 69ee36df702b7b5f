"""Everything on one page: the command; `reporting` makes the page."""
