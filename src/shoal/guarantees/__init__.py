"""What a release promises, as values that can be written, read and checked."""
