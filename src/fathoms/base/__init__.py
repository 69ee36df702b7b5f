"""What knows nothing of retrieval: errors, text, checks, rounding, results, charts, the kernel, work on many cores."""
