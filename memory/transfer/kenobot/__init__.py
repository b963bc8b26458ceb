"""KenoBot's files: read in every shape they ever had, written in that of its own documents."""
