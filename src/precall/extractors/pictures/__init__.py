"""Networks and other features of pictures."""
