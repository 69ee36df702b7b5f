"""Two runs side by side: their scores, the range of their difference, and what decides it."""
