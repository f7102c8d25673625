"""Curves and scores of two sets of samples."""

import warnings
from collections.abc import Mapping
from typing import Any

from precall.curves.pr_curve import Floats, PRCurve
from precall.errors import PrecallWarning
from precall.estimators import Estimator
from precall.evaluation.evaluate import evaluate
from precall.results.evaluation import Evaluation

Samples = tuple[Floats, Floats]  # real, generated


def evaluate_quietly(samples: Samples, **settings: Any) -> Evaluation:
    """Evaluate without warnings: experiments use few samples on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecallWarning)
        return evaluate(*samples, **settings)


def curves_of(
    samples: Samples, estimators: Mapping[str, Estimator], **settings: Any
) -> dict[str, PRCurve]:
    """Return the curve of each estimator under the name that it has here."""
    chosen = list(estimators.values())
    result = evaluate_quietly(samples, estimators=chosen, scores=(), **settings)
    return dict(zip(estimators, result.curves.values(), strict=True))


def scores_at(samples: Samples, k_of: Mapping[str, int]) -> dict[str, float]:
    """Return the value of each score at its k; of covers this is k, and k′ = 3k."""
    values: dict[str, float] = {}
    for k in sorted(set(k_of.values())):
        names = [name for name, its_k in k_of.items() if its_k == k]
        result = evaluate_quietly(samples, estimators=(), scores=names, score_k=k)
        values |= {name: result.scores[name].value for name in names}
    return {name: values[name] for name in k_of}


def in_words(score: str) -> str:
    """Return the name of a score as Cheema & Urner 2023 write it."""
    return f"improved {score}" if score in ("precision", "recall") else score.replace("_", " ")
