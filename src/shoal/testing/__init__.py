"""For tests of code that uses Shoal: strategies, checks and a differential-privacy audit."""
