"""Which document to judge next, a durable judging session, and its web page."""

MEASURES = ("AP",)  # those of which judging decides which system is better
