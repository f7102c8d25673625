"""Models that make features of pictures, texts and sounds: one file each."""
