"""A job: the settled choices of one evaluation, and the road that its samples take."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from precall.curves.best import best_curve
from precall.curves.pr_curve import PRCurve
from precall.data.splits import CoinFlip, Fold, HoldOut, NoSplit, RepeatedHoldOut, Split
from precall.engines import Engine, Progress, n_threads
from precall.errors import InputError
from precall.estimators import Estimator, NeighborEstimator
from precall.evaluation.two_sample import TwoSampleTest, binomial_test
from precall.evaluation.weighing import Pool, Sets, Weigher
from precall.findings.samples import Samples
from precall.neighbors.blocks import (
    DistanceTable,
    Division,
    RecomputedBlocks,
    measure_blocks_again,
)
from precall.neighbors.statistics import CrossPlan, NeighborPlan
from precall.results.evaluation import Evaluation, Protocol
from precall.runtime.progress import silent
from precall.runtime.written_calls import one_line
from precall.scores.conventions import Convention
from precall.scores.kernel_distance import kernel_distances_of_blocks
from precall.scores.records import Measured, Score, ScoreRequest
from precall.uncertainty.bands import CurveBand
from precall.uncertainty.intervals import (
    BoundedReplicates,
    is_told_by_one_sweep,
    recomputed_replicates,
    score_replicates,
)
from precall.version import __version__

__all__ = ["Job"]

_REALISM_K = 3


@dataclass(frozen=True, slots=True)
class Job:
    """All settled choices of one call of :func:`precall.evaluate`."""

    estimators: Sequence[Estimator]
    scores: Sequence[ScoreRequest]
    must_score: bool  # refuse too few samples for a score, rather than leave it out
    split: Split
    seed: int
    engine: Engine
    convention: Convention
    confidence: float | None  # of intervals; None for no intervals
    threads: int | None
    call: str  # that repeats it

    def resolved(self, sets: Sets) -> dict[str, Estimator]:
        """Name each curve's estimator, with every k settled."""
        return _name([estimator.resolved(*map(len, sets)) for estimator in self.estimators])

    @property
    def n_parts(self) -> int:
        """Parts that progress is reported in."""
        needs = NeighborPlan().union(request.needs() for request in self.scores)
        n_extra = needs != NeighborPlan() and not isinstance(self.split, NoSplit)
        n_curves = self.split.n_folds * self.weigher.n_parts(self.estimators)
        return n_curves * (bool(self.estimators) or not n_extra) + n_extra + self._n_score_parts

    @property
    def _n_score_parts(self) -> int:
        return bool(self.scores) * (1 + (self.confidence is not None))

    @property
    def weigher(self) -> Weigher:
        """What weighs the samples."""
        return Weigher(self.engine, self.seed, self.threads)

    def check(self, sets: Sets) -> None:
        """Refuse a k that the samples are too few for."""
        if self.estimators:
            smallest, *_ = self.split.folds(*sets, self.seed)  # the first fold has fewest to fit
            for estimator in self.resolved(sets).values():
                estimator.check(smallest)
        for request in self.scores if self.must_score else ():
            if (shortage := request.shortage(sets)) is not None:
                raise InputError(shortage)

    def possible_scores(self, sets: Sets) -> list[ScoreRequest]:
        """Return the scores that there are enough samples for."""
        return [request for request in self.scores if request.shortage(sets) is None]

    def caveats(self, sets: Sets) -> list[str]:
        """Say what about the samples makes a score doubtful."""
        names = {request.score for request in self.scores}
        shortages = [request.shortage(sets) for request in self.scores]
        return [f"{shortage} It is left out." for shortage in shortages if shortage] + [
            f"frechet_distance: {features.role} has {len(features)} samples of "
            f"{features.n_features} features, too few for a covariance of full rank; the distance "
            "is biased upwards."
            for features in sets
            if "frechet_distance" in names and len(features) <= features.n_features
        ]

    def score_plan(self, sets: Sets) -> NeighborPlan:
        """Unite what all scores need, and the table of samples."""
        needs = NeighborPlan().union(request.needs() for request in self.possible_scores(sets))
        if needs == NeighborPlan():
            return needs
        base = CrossPlan(
            frozenset({1}),
            self.convention.tie_rule(*(features.input_dtype for features in sets)),
            nearest=True,
            realism_ks=frozenset({self.realism_k(sets)}),
            realism_offset=self.convention.realism_offset,
        )
        return NeighborPlan(cross=base).union([needs])

    def realism_k(self, sets: Sets) -> int:
        """The k of realism: 3 as its authors have it, less only for a handful of samples."""
        return min(_REALISM_K, *(len(features) - 1 for features in sets))

    def run(self, sets: Sets, next_progress: Callable[[], Progress]) -> Evaluation:
        """Measure, judge and put together the result."""
        named = self.resolved(sets)
        pools = {name: Pool(sets) for name in named}
        unsplit = None
        for number, (fold, plan, has_curves) in enumerate(self._measurements(sets)):
            wanted = named if has_curves else {}
            weighed = self.weigher.weigh(wanted, fold, number, plan, next_progress)
            if plan.cross is not None:
                unsplit = weighed.statistics
            for name, found in weighed.evidence.items():
                pools[name].add(named[name], weighed.estimators[name], fold, found)
        measured = Measured(unsplit, sets, self.seed, n_threads(self.threads))
        scores = self._score(measured, next_progress)
        replicates = self._replicates(sets, scores, next_progress)
        for name, blocks in replicates.items():
            interval = blocks.interval(scores[name].value, self.confidence or 0.0)
            scores[name] = replace(scores[name], interval=interval)
        samples = Samples.of(
            (len(sets[0]), len(sets[1])),
            {name: pool.likelihood_ratios for name, pool in pools.items()},
            None if unsplit is None else measured,
            self.possible_scores(sets),
            self.realism_k(sets),
        )
        pools_folds = not isinstance(self.split, RepeatedHoldOut)
        return Evaluation(
            {name: pool.curve(pools_folds=pools_folds) for name, pool in pools.items()},
            scores,
            self._protocol(sets, named, pools),
            best_curve=self._best_curve(pools),
            tests=self._tests(pools),
            bands=self._bands(pools),
            confidence=self.confidence,
            extremes=samples.extremes(),
            replicates={name: blocks.replicates for name, blocks in replicates.items()},
            samples=samples,
        )

    def _best_curve(self, pools: Mapping[str, Pool]) -> PRCurve | None:
        """Combine all estimators; without a split none of them is judged by unseen samples."""
        if isinstance(self.split, NoSplit):
            return None
        if isinstance(self.split, RepeatedHoldOut):
            curves = [
                best_curve([e for pool in pools.values() for e in pool.parts[i]], self.seed)
                for i in range(self.split.n_folds if pools else 0)
            ]
            known = [curve for curve in curves if curve is not None]
            return PRCurve.mean(known) if known else None
        candidates = [evidence for pool in pools.values() for evidence in pool.evidence]
        return best_curve(candidates, self.seed)

    def _bands(self, pools: Mapping[str, Pool]) -> dict[str, CurveBand]:
        """Tell how uncertain each curve is; only repeated splits do."""
        if self.confidence is None or not isinstance(self.split, RepeatedHoldOut):
            return {}
        return {
            name: CurveBand.of([found[0] for found in pool.parts], self.confidence, self.seed)
            for name, pool in pools.items()
        }

    def _replicates(
        self, sets: Sets, scores: Mapping[str, Score], next_progress: Callable[[], Progress]
    ) -> dict[str, BoundedReplicates]:
        if self.confidence is None or not self.scores:
            return {}
        report = next_progress()
        requests = self.possible_scores(sets)
        threads = n_threads(self.threads)
        found = score_replicates(sets, requests, self.seed, threads)
        others = [request for request in requests if not is_told_by_one_sweep(request)]
        if others:
            found |= recomputed_replicates(
                sets, others, scores, lambda fitting: self._blocks(sets, fitting, report)
            )
        report(1, 1)
        return found

    def _blocks(
        self, sets: Sets, requests: Sequence[ScoreRequest], report: Progress
    ) -> dict[str, RecomputedBlocks]:
        """Compute some scores of random parts of the samples."""
        threads, division = n_threads(self.threads), Division.draw(sets, self.seed)
        plan = replace(self, scores=requests).score_plan(sets).cross
        table = DistanceTable.of(division.sets, threads) if plan is not None else None
        kernel = None
        if any(request.defined_as == "kernel_distance" for request in requests):
            kernel = kernel_distances_of_blocks(*division.sets, division.blocks, threads)

        def values(b: int) -> dict[str, float]:
            members = division.blocks[b]
            measured = Measured(
                table.statistics(*members, plan) if table and plan else None,
                division.samples(members),
                self.seed,
                threads=1,
                kernel_distance=None if kernel is None else float(kernel[b]),
            )
            return {request.name: request.measure(measured).value for request in requests}

        return measure_blocks_again(division, values, threads, report)

    def _tests(self, pools: Mapping[str, Pool]) -> dict[str, TwoSampleTest]:
        """Test for P = Q with each classifier; only a single split allows it without refitting."""
        if not isinstance(self.split, HoldOut | CoinFlip):
            return {}
        tests = {}
        for name, pool in pools.items():
            real, generated = (ratios[~np.isnan(ratios)] for ratios in pool.likelihood_ratios)
            tests[name] = binomial_test((real, generated), self.seed)
        return tests

    def _measurements(self, sets: Sets) -> Iterator[tuple[Fold, NeighborPlan, bool]]:
        """Yield what to measure: folds for the curves, all samples for the scores, or both in one.

        Each with what the scores need of it, and whether it serves the curves.
        """
        plan = self.score_plan(sets)
        if isinstance(self.split, NoSplit):
            (fold,) = self.split.folds(*sets, self.seed)
            yield fold, plan, bool(self.estimators)
            return
        if self.estimators:
            for fold in self.split.folds(*sets, self.seed):
                yield fold, NeighborPlan(), True
        if plan.cross is not None:
            (fold,) = NoSplit().folds(*sets, self.seed)
            yield fold, plan, False

    def score_only(self, sets: Sets) -> Mapping[str, Score]:
        """Compute the scores of other sets, without curves or intervals."""
        alone = replace(self, estimators=(), split=NoSplit(), confidence=None)
        return alone.run(sets, lambda: silent).scores

    def _score(self, measured: Measured, next_progress: Callable[[], Progress]) -> dict[str, Score]:
        requests, scores = self.possible_scores(measured.sets), {}
        if requests:
            report = next_progress()
            for request in requests:
                scores[request.name] = request.measure(measured)
                report(len(scores), len(requests))
        return scores

    def _protocol(
        self, sets: Sets, named: dict[str, Estimator], pools: Mapping[str, Pool]
    ) -> Protocol:
        real, generated = sets
        return Protocol(
            n=len(real),
            m=len(generated),
            d=real.n_features,
            dtype=_dtype(sets),
            estimators={name: one_line(estimator) for name, estimator in named.items()},
            k={name: estimator.n_neighbors for name, estimator in named.items()},
            choices={name: tuple(pool.choices) for name, pool in pools.items() if pool.choices},
            split=str(self.split),
            seed=self.seed,
            tie_rule=str(self.convention.tie_rule(*(side.input_dtype for side in sets))),
            convention=self.convention.name,
            engine=self.engine.name,
            sources={"real": real.source, "generated": generated.source},
            fingerprints={"real": real.fingerprint, "generated": generated.fingerprint},
            versions={
                "precall": __version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            call=self.call,
        )


def _dtype(sets: Sets) -> str:
    return str(np.promote_types(sets[0].dtype, sets[1].dtype))


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
