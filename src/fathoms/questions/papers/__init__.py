"""What do the five papers say of this collection? The command; `papers` has the studies."""
