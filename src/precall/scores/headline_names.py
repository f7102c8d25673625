"""The scores of the headline: what they are called, and what they say."""

HEADLINE = {
    "support_precision": "share of generated within the support of real",
    "support_recall": "share of real within the support of generated",
    "recall_at_half": "share of real that is generated at least half as often as it should be",
}
FEWEST = 50  # samples of each class
