"""Moved: see evaluation.compare and results.comparison."""

from precall.evaluation.compare import compare as compare
from precall.results.comparison import Comparison as Comparison
from precall.results.comparison import Difference as Difference
