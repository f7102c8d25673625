"""Pictures, texts and sounds before they are features: where they are, and how one is read."""
