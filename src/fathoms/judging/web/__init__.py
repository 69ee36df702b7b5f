"""The judging page: a desk that hands documents to several assessors, and the server in front of it."""
