"""All settled choices of one evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from precall.data.feature_sets import FeatureSet
from precall.data.splits import CrossFit, NoSplit, RepeatedHoldOut, Split, as_split
from precall.errors import InputError, check_integer
from precall.estimators import (
    NEIGHBOR_ESTIMATORS,
    Estimator,
    NeighborEstimator,
    as_estimator,
)
from precall.evaluation.evidence_pool import Sets, expected_work
from precall.neighbors.statistics import CrossPlan, NeighborPlan
from precall.neighbors.sweeps import Ask
from precall.runtime.written_calls import one_line
from precall.scores import (
    HEADLINE,
    Convention,
    Metric,
    ScoreRequest,
    as_convention,
    as_score_requests,
)

_REALISM_K = 3
_HEADLINE_PAIRS = 3  # passes over all pairs of samples that take as long
_CLUSTERING = 300  # pairs that take as long to compare as one sample to cluster


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What :func:`precall.evaluate` was asked for, checked and with names resolved."""

    estimators: Sequence[Estimator]
    headline: Sequence[str]  # which of its scores
    scores: Sequence[ScoreRequest]
    must_score: bool  # refuse too few samples for a score, rather than leave it out
    chose_k: bool  # of the scores
    split: Split
    seed: int
    convention: Convention
    intervals: bool
    confidence: float
    ceiling: object  # False, True, or features of held-out samples
    modes: int | Literal["auto"] | None
    labels: tuple[object, object]  # of real, of generated

    @classmethod
    def of(
        cls,
        *,
        estimators: Sequence[str | Estimator] = tuple(NEIGHBOR_ESTIMATORS),
        scores: Sequence[str | Metric] | str | None = None,
        score_k: int | Sequence[int] | None = None,
        headline: bool | None = None,
        split: bool | float | Split | Literal["auto"] | None = "auto",
        seed: int = 0,
        convention: str = "precall",
        labels_real: object = None,
        labels_generated: object = None,
        intervals: bool = False,
        confidence: float = 0.95,
        ceiling: object = False,
        modes: int | Literal["auto"] | None = None,
    ) -> Self:
        """Read the arguments of :func:`precall.evaluate`."""
        check_integer("seed", seed, 0)
        if modes is not None and modes != "auto":
            check_integer("modes", modes, 2)
        if not isinstance(confidence, float) or not 0.5 <= confidence < 1:
            raise InputError(f"confidence must lie between 0.5 and 1; got {confidence!r}.")
        chosen = as_convention(convention)
        names, scores = _as_headline(headline, scores, chosen)
        requests = as_score_requests(scores, score_k, chosen)
        if isinstance(split, str) and split == "auto":
            split = RepeatedHoldOut() if intervals else CrossFit(2)
        return cls(
            estimators=_as_estimators(estimators),
            headline=names,
            scores=requests,
            must_score=scores is not None,
            chose_k=score_k is not None,
            split=as_split(split),
            seed=int(seed),
            convention=chosen,
            intervals=intervals,
            confidence=confidence,
            ceiling=ceiling if requests and ceiling is not None else False,
            modes=modes,
            labels=(labels_real, labels_generated),
        )

    def about(self, sets: Sequence[FeatureSet]) -> dict[str, Any]:
        """Write down what a result depends on, for those who go on with unfinished work."""
        return {
            "fingerprints": {side.role: side.fingerprint for side in sets},
            "estimators": [one_line(estimator) for estimator in self.estimators],
            "scores": [*self.headline, *(request.name for request in self.scores)],
            "split": str(self.split),
            "seed": self.seed,
            "convention": self.convention.name,
            "intervals": self.confidence if self.intervals else None,
            "modes": self.modes,
        }

    def named_estimators(self, sets: Sets) -> dict[str, Estimator]:
        """Name each curve's estimator, with every k settled."""
        return _name([estimator.resolved(*map(len, sets)) for estimator in self.estimators])

    def possible_scores(self, sets: Sets) -> list[ScoreRequest]:
        """Return the scores that there are enough samples for."""
        return [request for request in self.scores if request.shortage(sets) is None]

    def check(self, sets: Sets) -> None:
        """Refuse a k that the samples are too few for."""
        if self.estimators:
            smallest, *_ = self.split.folds(*sets, self.seed)  # the first fold has fewest to fit
            for estimator in self.named_estimators(sets).values():
                estimator.check(smallest)
        for request in self.scores if self.must_score else ():
            if (shortage := request.shortage(sets)) is not None:
                raise InputError(shortage)

    def check_chosen_k(self, sets: Sets) -> None:
        """Refuse a chosen k of the scores that the samples are too few for, whatever the score."""
        for k in {request.k: None for request in self.scores if request.k} if self.chose_k else ():
            shortages = [request.shortage(sets) for request in self.scores if request.k == k]
            if all(shortages):
                raise InputError(
                    f"score_k={k} is too large for every score: {shortages[0]} Choose a smaller k."
                )

    def caveats(self, sets: Sets) -> list[str]:
        """Say what about the samples makes a score doubtful."""
        names = {request.metric.name for request in self.scores}
        shortages = [request.shortage(sets) for request in self.scores]
        return [f"{shortage} It is left out." for shortage in shortages if shortage] + [
            f"frechet_distance: {features.role} has {len(features)} samples of "
            f"{features.n_features} features, too few for a covariance of full rank; the distance "
            "is biased upwards."
            for features in sets
            if "frechet_distance" in names and len(features) <= features.n_features
        ]

    def realism_k(self, sets: Sets) -> int:
        """The k of realism: 3 as its authors have it, less only for a handful of samples."""
        return min(_REALISM_K, len(sets[0]) - 1)

    def score_plan(self, sets: Sets) -> CrossPlan | None:
        """Unite what all scores need, and what the table of samples shows beside them."""
        needs = [p for r in self.possible_scores(sets) if (p := r.needs) is not None]
        if not needs or len(sets[0]) < 2:
            return CrossPlan().union(needs) if needs else None
        every_k = {k for plan in needs for k in plan.every_k if k < len(sets[0])}
        base = CrossPlan(
            balls=frozenset(("real", k) for k in {1, *every_k}),
            nearest=True,
            realism=frozenset({self.realism_k(sets)}),
            realism_offset=self.convention.realism_offset,
            tie_rule=self.convention.tie_rule(*(side.input_dtype for side in sets)),
        )
        return base.union(needs)

    def asked_of_all(self, sets: Sets) -> Ask:
        """What scores need of all samples."""
        (fold,) = NoSplit().folds(*sets, self.seed)
        return Ask(fold, NeighborPlan(cross=self.score_plan(sets)))

    def expected_work(self, sets: Sets) -> float:
        """Estimate the work, in pairs of samples to compare."""
        work = of_scores = float(self.asked_of_all(sets).n_pairs)
        if self.estimators:
            folds = self.split.folds(*sets, self.seed)
            work += expected_work([*self.named_estimators(sets).values()], folds)
        n_samples = sum(map(len, sets))
        work += _HEADLINE_PAIRS * n_samples**2 if self.headline else 0
        work += n_samples**2 if self.intervals and self.scores else 0
        work += of_scores / 2 if self.ceiling is not False else 0
        return work + (_CLUSTERING * n_samples if self.modes is not None else 0)


def _as_headline(
    headline: bool | None, scores: Sequence[str | Metric] | str | None, convention: Convention
) -> tuple[Sequence[str], Sequence[str | Metric] | str | None]:
    """Say which scores of the headline are wanted, and which others."""
    if headline is not None and not isinstance(headline, bool):
        raise InputError(f"headline must be True, False or None; got {headline!r}.")
    is_preset = convention.name != "precall"
    if headline and is_preset:
        raise InputError(
            f"the headline cannot be combined with the convention {convention.name!r}, which has "
            "no such scores; choose 'precall'."
        )
    is_list = isinstance(scores, Sequence) and not isinstance(scores, str)
    if is_preset or (headline is False and not is_list):
        return (), scores
    if not isinstance(scores, Sequence) or isinstance(scores, str):
        return tuple(HEADLINE), scores
    named = [score for score in scores if isinstance(score, str) and score in HEADLINE]
    if headline is False and named:
        raise InputError(f"the score {named[0]!r} is one of the headline, which is left out.")
    if len(set(named)) < len(named):
        raise InputError(f"scores names {named[0]!r} twice.")
    return tuple(HEADLINE) if headline else named, [s for s in scores if s not in named]


def _as_estimators(estimators: Sequence[str | Estimator]) -> list[Estimator]:
    if isinstance(estimators, str) or not isinstance(estimators, Sequence):
        raise InputError(
            f"estimators must be a list of names or estimator objects; got {estimators!r}."
        )
    return [as_estimator(estimator) for estimator in estimators]


def _name(estimators: Sequence[Estimator]) -> dict[str, Estimator]:
    """Name each curve by its estimator; where one occurs twice by its k, or a number, too."""
    occurring = [estimator.name for estimator in estimators]
    named: dict[str, Estimator] = {}
    for estimator in estimators:
        name = estimator.name
        if occurring.count(name) > 1 and estimator.n_neighbors is not None:
            name += f"_k{estimator.n_neighbors}"
        elif occurring.count(name) > 1 and isinstance(estimator, NeighborEstimator):
            name += f"_{estimator.k}"
        elif occurring.count(name) > 1:
            name += f"_{1 + sum(known.name == name for known in named.values())}"
        if name in named:
            raise InputError(f"estimators names {estimator!r} twice.")
        named[name] = estimator
    return named
