"""One file a format; `registry` has them all in order, and everything else asks it."""
