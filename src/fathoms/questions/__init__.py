"""The questions people come with: a room each."""
