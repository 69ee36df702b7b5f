"""What knows nothing about retrieval: errors, text, checks, rounding, results, charts, the kernel, parallel work."""
