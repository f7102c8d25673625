"""The one driver over all engines: which questions to ask, in which order, and what follows.

Radii first: of references, and of queries where balls are centred on these. Then counts. Then,
without a split, what the classes are to each other. Engines know rows, balls and limits; that
radii become a mean, a median, a tie rule or a soft limit is decided here.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.data.splits import FitEval, Fold
from precall.engines import Engine, choose_engine
from precall.engines.answers import Met
from precall.engines.protocol import Balls, Limits, Meeting, Neighbors, Session
from precall.neighbors.radii import (
    clipped_thresholds,
    mean_threshold,
    realism_weights,
    soft_radius,
)
from precall.neighbors.statistics import (
    ROLES,
    Ball,
    CrossPlan,
    CrossStatistics,
    NearestOther,
    NeighborPlan,
    NeighborStatistics,
    Request,
    SideStatistics,
)
from precall.runtime.progress import Progress, progress_bar
from precall.runtime.threads import n_threads

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Radii = dict[int, Floats]  # k -> (n,) squared radius of each sample's own ball

FLOOR = math.log(2.0**-54)  # 1 less e to this, or to less, is 1


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What is wanted of one fold."""

    fold: Fold
    plan: NeighborPlan

    @property
    def sides(self) -> tuple[FitEval, FitEval]:
        """Real, generated."""
        return self.fold.real, self.fold.generated

    def with_plan(self, plan: NeighborPlan) -> "Ask":
        """Ask for more of the same fold."""
        return Ask(self.fold, self.plan.union([plan]))

    @property
    def n_pairs(self) -> int:
        """Pairs of samples that will be compared."""
        plan, sizes = self.plan, [len(side.fit) for side in self.sides]
        n_eval = sum(len(side.evaluated) for side in self.sides)
        total = n_eval * sum(sizes) * (bool(plan.reach_ks) + bool(plan.requests))
        total += sum(n**2 for n, role in zip(sizes, ROLES, strict=True) if plan.radius_ks(role))
        if plan.cross:
            total += sizes[0] * sizes[1] * (1 + len({role for role, _ in plan.cross.soft}))
            total += sizes[0] ** 2 * bool(plan.cross.clipped)
        return total


@dataclass(slots=True, eq=False)
class Sweeps:
    """Asks an engine's session about placed sets, and remembers the radii of sets that stay."""

    session: Session
    progress: Progress = field(default_factory=Progress)
    engine: str = ""  # its name
    _known: list[tuple[Rows, Radii]] = field(default_factory=list)

    @contextmanager
    def placed(self, *sets: FeatureSet) -> Iterator[None]:
        """Hold some sets for a while."""
        self.session.place(*(side.rows for side in sets))
        try:
            yield
        finally:
            self.session.drop(*(side.rows for side in sets))
            self.forget(*sets)

    def forget(self, *sets: FeatureSet) -> None:
        """Forget the radii of samples that are stored in the arrays of these sets."""
        arrays = [side.rows.array for side in sets]
        self._known = [
            known for known in self._known if not any(known[0].array is array for array in arrays)
        ]

    def measure(
        self, asked: Sequence[Ask], doing: str = "comparing samples"
    ) -> list[NeighborStatistics]:
        """Answer everything that is asked, of all folds at once."""
        self.progress.doing(doing)
        for ask in asked:
            has_split = any(side.fit is not side.evaluated for side in ask.sides)
            if ask.plan.cross is not None and has_split:
                raise ValueError("balls between the classes are only defined without a split")
        radii = self._own_radii(asked)
        reach = self._reach(asked)
        counts = self._counts(asked, radii, reach)
        cross = self._cross(asked, radii)
        return [
            NeighborStatistics(
                np.repeat([True, False], [len(side.evaluated) for side in ask.sides]),
                counted,
                reached,
                between,
            )
            for ask, counted, reached, between in zip(asked, counts, reach, cross, strict=True)
        ]

    # Radii

    def _own_radii(self, asked: Sequence[Ask]) -> list[tuple[Radii, Radii]]:
        """Squared distance of every fit sample to its k-th neighbour in its class, less itself."""
        wanted: list[tuple[Rows, set[int]]] = []
        for ask in asked:
            for side, role in zip(ask.sides, ROLES, strict=True):
                missing = set(ask.plan.radius_ks(role)) - self._radii(side.fit).keys()
                same = next((ks for rows, ks in wanted if rows.is_same_as(side.fit)), None)
                if same is not None:
                    same |= missing
                elif missing:
                    wanted.append((side.fit, missing))
        questions = [
            Neighbors(rows, (rows,), [k + 1 for k in sorted(ks)])  # a sample is its own nearest
            for rows, ks in wanted
        ]
        for (rows, ks), squared in zip(wanted, self.session.kth(questions), strict=True):
            found = {k: squared[:, 0, i].copy() for i, k in enumerate(sorted(ks))}
            self._radii(rows).update(found)
        return [(self._radii(a.fold.real.fit), self._radii(a.fold.generated.fit)) for a in asked]

    def _radii(self, rows: Rows) -> Radii:
        """What is known of the balls of these rows; to be added to."""
        for known, radii in self._known:
            if known.is_same_as(rows):
                return radii
        self._known.append((rows, {}))
        return self._known[-1][1]

    def _reach(self, asked: Sequence[Ask]) -> list[dict[Request, Floats]]:
        """Squared radius around each query, for each ball that is centred on it: (n_queries, 2)."""
        questions = [
            Neighbors(side.evaluated, (ask.fold.real.fit, ask.fold.generated.fit), ks)
            for ask in asked
            if (ks := ask.plan.reach_ks)
            for side in ask.sides
        ]
        answers = iter(self.session.kth(questions))
        found: list[dict[Request, Floats]] = []
        for ask in asked:
            reach: dict[Request, Floats] = {}
            if ask.plan.reach_ks:
                of_both = np.concatenate([next(answers), next(answers)])
                real, generated, union = of_both.transpose(1, 2, 0)
                for ball, k in ask.plan.requests:
                    at = ask.plan.reach_ks.index(k) if k in ask.plan.reach_ks else 0
                    if ball is Ball.OPPOSITE:
                        reach[ball, k] = np.stack([generated[at], real[at]], axis=1)
                    elif ball is Ball.UNION:
                        reach[ball, k] = np.stack([union[at], union[at]], axis=1)
            found.append(reach)
        return found

    # Counts

    def _counts(
        self,
        asked: Sequence[Ask],
        radii: Sequence[tuple[Radii, Radii]],
        reach: Sequence[dict[Request, Floats]],
    ) -> list[dict[Request, Counts]]:
        """Count the references of each class near each query: (n_queries, 2)."""
        questions, names = [], []
        for ask, own, around in zip(asked, radii, reach, strict=True):
            if not ask.plan.requests:
                continue
            start = 0
            for side in ask.sides:
                part = slice(start, start + len(side.evaluated))
                start = part.stop
                for c, references in enumerate(ask.sides):
                    of_queries = {request: r[part, c] for request, r in around.items()}
                    for k in ask.plan.ks(Ball.MEAN):
                        threshold = mean_threshold(own[c][k])
                        of_queries[Ball.MEAN, k] = np.full(len(side.evaluated), threshold)
                    ks = ask.plan.ks(Ball.REFERENCE)
                    questions.append(
                        Balls(
                            side.evaluated,
                            references.fit,
                            _stacked(list(of_queries.values()), len(side.evaluated)),
                            _stacked([own[c][k] for k in ks], len(references.fit)),
                        )
                    )
                    names.append([*of_queries, *((Ball.REFERENCE, k) for k in ks)])
        answers = zip(names, self.session.count(questions), strict=True)
        found: list[dict[Request, Counts]] = []
        for ask in asked:
            quarters = [next(answers) for _ in range(4)] if ask.plan.requests else []
            found.append(
                {
                    request: np.concatenate(
                        [
                            np.stack([c[:, names.index(request)] for names, c in pair], axis=1)
                            for pair in (quarters[:2], quarters[2:])
                        ]
                    )
                    for request in ask.plan.requests
                }
            )
        return found

    # Between the classes

    def _cross(
        self, asked: Sequence[Ask], radii: Sequence[tuple[Radii, Radii]]
    ) -> list[CrossStatistics | None]:
        found: list[CrossStatistics | None] = []
        for ask, own in zip(asked, radii, strict=True):
            plan, sides = ask.plan.cross, (ask.fold.real.fit, ask.fold.generated.fit)
            found.append(None if plan is None else self._relate(plan, sides, own))
        return found

    def _relate(
        self, plan: CrossPlan, sides: tuple[Rows, Rows], radii: tuple[Radii, Radii]
    ) -> CrossStatistics:
        """Let the classes meet. Clipped balls of real stand behind its own ones."""
        own = [
            [plan.tie_rule.thresholds(of[k]) for k in plan.counted_ks(role)]
            for of, role in zip(radii, ROLES, strict=True)
        ]
        clipped = [clipped_thresholds(radii[0][k]) for k in sorted(plan.clipped)]
        weights = [realism_weights(radii[0][k]) for k in sorted(plan.realism)]
        meeting = Meeting(
            Balls(
                *sides,
                _stacked([*own[0], *clipped], len(sides[0])),
                _stacked(own[1], len(sides[1])),
            ),
            nearest=plan.nearest,
            weights=_stacked(weights, len(sides[0])),
            offset=plan.realism_offset,
        )
        (relation,) = self.session.relate([meeting])
        log_missed = self._log_missed(plan, sides, radii)
        among_real = self._clipped_among_real(sides[0], clipped)
        around_generated = relation.of_references.in_others[:, len(own[0]) :]
        found = [
            _side(plan, c, met, sides[1 - c], radii[c], log_missed[c], around)
            for c, met, around in (
                (0, relation.of_queries, among_real),
                (1, relation.of_references, around_generated),
            )
        ]
        return CrossStatistics(*found)

    def _log_missed(
        self, plan: CrossPlan, sides: tuple[Rows, Rows], radii: tuple[Radii, Radii]
    ) -> list[dict[int, Floats]]:
        """By class: Σ log min(1, d/R) over the other class, R of which is the other's."""
        ks = [sorted(k for role, k in plan.soft if role == of) for of in reversed(ROLES)]
        limits = [np.array([soft_radius(radii[1 - c][k]) for k in ks[c]]) for c in (0, 1)]
        orders = [np.argsort(of, kind="stable") for of in limits]
        questions = [Limits(sides[c], sides[1 - c], limits[c][orders[c]]) for c in (0, 1) if ks[c]]
        answers = iter(self.session.log_sums(questions, FLOOR))
        found: list[dict[int, Floats]] = []
        for c in (0, 1):
            sums = list(next(answers)) if ks[c] else []
            found.append({ks[c][at]: of for at, of in zip(orders[c], sums, strict=True)})
        return found

    def _clipped_among_real(self, real: Rows, clipped: list[Floats]) -> Counts:
        """Count the clipped balls of other real samples around each real one: (n, n_balls)."""
        if not clipped:
            return np.empty((len(real), 0), np.int64)
        nobody = np.empty((0, len(real)))
        (counts,) = self.session.count([Balls(real, real, nobody, np.array(clipped))])
        return counts - 1  # less its own


@contextmanager
def open_sweeps(
    engine: str | Engine = "auto", *, threads: int | None = None, progress: bool = False
) -> Iterator[Sweeps]:
    """Open a session of an engine, with a progress bar if one is wanted."""
    chosen, workers = choose_engine(engine), n_threads(threads)
    with progress_bar(shown=progress) as bar, chosen.open(workers, bar.advance) as session:
        yield Sweeps(session, bar, chosen.name)


def _side(
    plan: CrossPlan,
    c: int,
    met: Met,
    others: Rows,
    radii: Radii,
    log_missed: dict[int, Floats],
    clipped: Counts,
) -> SideStatistics:
    """Name what one class found out."""
    own_ks, other_ks = plan.counted_ks(ROLES[c]), plan.counted_ks(ROLES[1 - c])
    nearest = NearestOther(
        others.places_of(met.nearest) if plan.nearest else met.nearest,
        met.squared,
        {k: met.is_held[:, i].copy() for i, k in enumerate(other_ks)},
    )
    return SideStatistics(
        {k: radii[k] for k in plan.radius_ks(ROLES[c])},
        {k: met.in_own[:, i].copy() for i, k in enumerate(own_ks)},
        {k: met.in_others[:, i].copy() for i, k in enumerate(other_ks)},
        nearest if plan.nearest else None,
        {k: met.ratio[:, i].copy() for i, k in enumerate(sorted(plan.realism)) if c == 1},
        log_missed,
        {k: clipped[:, i].copy() for i, k in enumerate(sorted(plan.clipped))},
    )


def _stacked(rows: list[Floats], n: int) -> Floats:
    """One row a ball, none if there are none: (n_balls, n)."""
    return np.array(rows, np.float64).reshape(len(rows), n)
