"""The judging page: a service that hands documents to several assessors, and the server in front of it."""
