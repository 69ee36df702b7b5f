"""The whole story on a simulated collection."""
