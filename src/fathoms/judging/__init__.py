"""Which document to judge next, a durable judging session, and its web page."""
