"""What useful means: one file per measure."""
