"""Scores of two sets of samples, each at a k of its own."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.errors import PrecallWarning
from precall.evaluation.evaluate import evaluate
from precall.results.evaluation import Evaluation

__all__ = ["evaluate_quietly", "in_words", "scores_at"]

Floats = NDArray[np.float64]


def evaluate_quietly(real: Floats, generated: Floats, **settings: Any) -> Evaluation:
    """Evaluate without warnings: experiments use few samples on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecallWarning)
        return evaluate(real, generated, **settings)


def scores_at(real: Floats, generated: Floats, k_of: Mapping[str, int]) -> dict[str, float]:
    """Return the value of each score at its k; of covers this is k, and k′ = 3k."""
    values: dict[str, float] = {}
    for k in sorted(set(k_of.values())):
        names = [name for name, its_k in k_of.items() if its_k == k]
        result = evaluate_quietly(real, generated, estimators=(), scores=names, score_k=k)
        values |= {name: result.scores[name].value for name in names}
    return {name: values[name] for name in k_of}


def in_words(score: str) -> str:
    """Return the name of a score as 001 writes it."""
    return f"improved {score}" if score in ("precision", "recall") else score.replace("_", " ")
