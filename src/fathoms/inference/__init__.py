"""What statistics say: tests, corrections, intervals, correlations, agreement. Arrays in, arrays out."""
