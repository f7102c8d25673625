"""The field's scalar scores: one record each, and what they are called by other programs."""

from precall.scores.catalog import DISTANCES, METRICS
from precall.scores.conventions import CONVENTIONS, Convention, as_convention
from precall.scores.headline_names import HEADLINE
from precall.scores.metric import Metric, SamplePair
from precall.scores.requests import ScoreRequest, as_score_requests
from precall.scores.score import Ceiling, Score

__all__ = [
    "CONVENTIONS",
    "DISTANCES",
    "HEADLINE",
    "METRICS",
    "Ceiling",
    "Convention",
    "Metric",
    "SamplePair",
    "Score",
    "ScoreRequest",
    "as_convention",
    "as_score_requests",
]
