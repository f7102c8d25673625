"""The one driver over all engines: which questions to ask, in which order, and what follows.

Radii first: of references, and of queries where balls are centred on these. Then counts. Then,
without a split, what the classes are to each other. Engines know rows, balls and limits; that
radii become a mean, a median, a tie rule or a soft limit is decided here.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet, Rows
from precall.data.splits import FitEval, Fold
from precall.engines import Engine, choose_engine
from precall.engines.answers import Met, Relation
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
    """Asks an engine's session about placed sets."""

    session: Session
    progress: Progress = field(default_factory=Progress)
    engine: str = ""  # its name
    remembers: bool = False  # radii, for more questions about the same samples
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
        with self.session.sharing():
            radii, reach = self._radii(asked)
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

    def _radii(
        self, asked: Sequence[Ask]
    ) -> tuple[list[tuple[Radii, Radii]], list[dict[Request, Floats]]]:
        """Own radii, and reach of queries: asked together, as they are about the same pairs."""
        every = [side.fit for ask in asked for side in ask.sides]
        radii = {id(rows): self._remembered(rows) for rows in every}  # asks hold on to the rows
        wanted = self._missing_radii(asked, radii)
        own = [
            Neighbors(rows, (rows,), [k + 1 for k in sorted(missing)])  # itself is nearest
            for rows, missing in wanted
        ]
        around = [
            Neighbors(side.evaluated, (ask.fold.real.fit, ask.fold.generated.fit), ks)
            for ask in asked
            if (ks := ask.plan.reach_ks)
            for side in ask.sides
        ]
        answers = iter(self.session.kth([*own, *around]))
        for (rows, missing), squared in zip(wanted, islice(answers, len(own)), strict=True):
            found = {k: squared[:, 0, i].copy() for i, k in enumerate(sorted(missing))}
            radii[id(rows)].update(found)
        of_sides = iter(radii[id(rows)] for rows in every)
        return list(zip(of_sides, of_sides, strict=True)), _read_reach(asked, answers)

    def _missing_radii(
        self, asked: Sequence[Ask], radii: dict[int, Radii]
    ) -> list[tuple[Rows, set[int]]]:
        """Each k that radii of fit samples, to their k-th neighbour in their class, lack."""
        wanted: dict[int, tuple[Rows, set[int]]] = {}
        for ask in asked:
            for side, role in zip(ask.sides, ROLES, strict=True):
                missing = set(ask.plan.radius_ks(role)) - radii[id(side.fit)].keys()
                if missing:
                    wanted.setdefault(id(side.fit), (side.fit, set()))[1].update(missing)
        return list(wanted.values())

    def _remembered(self, rows: Rows) -> Radii:
        """What is known of the balls of these rows; to be added to."""
        if not self.remembers:
            return {}
        for known, radii in self._known:
            if known.is_same_as(rows):
                return radii
        self._known.append((rows, {}))
        return self._known[-1][1]

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
            # Of real queries the real references, the generated ones; then of generated queries.
            columns = [
                dict(zip(next_names, counts.T, strict=True))
                for next_names, counts in islice(answers, 4 if ask.plan.requests else 0)
            ]
            counted = {
                request: np.concatenate(
                    [
                        np.stack([of_real[request], of_generated[request]], axis=1)
                        for of_real, of_generated in (columns[:2], columns[2:])
                    ]
                )
                for request in ask.plan.requests
            }
            found.append(counted)
        return found

    # Between the classes

    def _cross(
        self, asked: Sequence[Ask], radii: Sequence[tuple[Radii, Radii]]
    ) -> list[CrossStatistics | None]:
        """Let the classes meet, where that is asked for."""
        pairs = [
            _Pair(ask.plan.cross, (ask.fold.real.fit, ask.fold.generated.fit), own)
            for ask, own in zip(asked, radii, strict=True)
            if ask.plan.cross is not None
        ]
        limits = [limit for pair in pairs for limit in pair.limits]
        clipped = [pair.clipped_among_real for pair in pairs if pair.plan.clipped]
        relations = self.session.relate([pair.meeting for pair in pairs])
        floor = min((pair.plan.soft_floor for pair in pairs), default=0.0)
        log_sums = iter(self.session.log_sums(limits, floor))
        counts = iter(self.session.count(clipped))
        found = (
            pair.read(relation, log_sums, counts)
            for pair, relation in zip(pairs, relations, strict=True)
        )
        return [None if ask.plan.cross is None else next(found) for ask in asked]


def _read_reach(asked: Sequence[Ask], answers: Iterator[Floats]) -> list[dict[Request, Floats]]:
    """Squared radius around each query, for each ball that is centred on it: (n_queries, 2)."""
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


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Both classes of one fold without a split: what is asked about them, and read off."""

    plan: CrossPlan
    sides: tuple[Rows, Rows]
    radii: tuple[Radii, Radii]

    @property
    def meeting(self) -> Meeting:
        """Own balls of both, behind those of real its clipped ones; weights that realism asks."""
        own = [
            [self.plan.tie_rule.thresholds(of[k]) for k in self.plan.counted_ks(role)]
            for of, role in zip(self.radii, ROLES, strict=True)
        ]
        weights = [realism_weights(self.radii[0][k]) for k in sorted(self.plan.realism)]
        n, m = map(len, self.sides)
        return Meeting(
            Balls(*self.sides, _stacked([*own[0], *self._clipped], n), _stacked(own[1], m)),
            nearest=self.plan.nearest,
            weights=_stacked(weights, n),
            offset=self.plan.realism_offset,
        )

    @property
    def clipped_among_real(self) -> Balls:
        """The clipped balls of real samples, around real samples."""
        real = self.sides[0]
        return Balls(real, real, np.empty((0, len(real))), np.array(self._clipped))

    @property
    def limits(self) -> list[Limits]:
        """R of each class, around the samples of the other."""
        return [
            Limits(self.sides[c], self.sides[1 - c], np.array(sorted(self._soft_radii(c).values())))
            for c in (0, 1)
            if self._soft_radii(c)
        ]

    @property
    def _clipped(self) -> list[Floats]:
        return [clipped_thresholds(self.radii[0][k]) for k in sorted(self.plan.clipped)]

    def _soft_radii(self, c: int) -> dict[int, float]:
        """By k: R that samples of class ``c`` are covered within, which comes from the other."""
        ks = sorted(k for role, k in self.plan.soft if role == ROLES[1 - c])
        return {k: soft_radius(self.radii[1 - c][k]) for k in ks}

    def read(
        self, relation: Relation, log_sums: Iterator[Floats], counts: Iterator[Counts]
    ) -> CrossStatistics:
        """Name what was found."""
        n_own = len(self.plan.counted_ks("real"))
        around = relation.of_references.in_others[:, n_own:]
        among = next(counts) - 1 if self.plan.clipped else around[:0]  # less its own
        return CrossStatistics(
            self._side(0, relation.of_queries, self._log_missed(0, log_sums), among),
            self._side(1, relation.of_references, self._log_missed(1, log_sums), around),
        )

    def _log_missed(self, c: int, log_sums: Iterator[Floats]) -> dict[int, Floats]:
        radii = self._soft_radii(c)
        if not radii:
            return {}
        return dict(zip(sorted(radii, key=lambda k: radii[k]), next(log_sums), strict=True))

    def _side(
        self, c: int, met: Met, log_missed: dict[int, Floats], clipped: Counts
    ) -> SideStatistics:
        plan, others = self.plan, self.sides[1 - c]
        own_ks, other_ks = plan.counted_ks(ROLES[c]), plan.counted_ks(ROLES[1 - c])
        nearest = None
        if plan.nearest:
            held = {k: met.is_held[:, i].copy() for i, k in enumerate(other_ks)}
            nearest = NearestOther(others.places_of(met.nearest), met.squared, held)
        realism_ks = sorted(plan.realism) if c == 1 else []  # only of generated
        return SideStatistics(
            squared_radii={k: self.radii[c][k] for k in plan.radius_ks(ROLES[c])},
            holds={k: met.in_own[:, i].copy() for i, k in enumerate(own_ks)},
            held_by={k: met.in_others[:, i].copy() for i, k in enumerate(other_ks)},
            nearest=nearest,
            squared_realism={k: met.ratio[:, i].copy() for i, k in enumerate(realism_ks)},
            log_missed=log_missed,
            clipped={k: clipped[:, i].copy() for i, k in enumerate(sorted(plan.clipped))},
        )


@contextmanager
def open_sweeps(
    engine: str | Engine = "auto",
    *,
    rows: Sequence[Rows] = (),
    threads: int | None = None,
    progress: bool = False,
) -> Iterator[Sweeps]:
    """Open a session of an engine that serves some rows, with a progress bar if one is wanted."""
    chosen, workers = choose_engine(engine, rows), n_threads(threads)
    with (
        progress_bar(shown=progress) as bar,
        _announced_compiling(bar) if progress else nullcontext(),
        chosen.open(workers, bar.advance) as session,
    ):
        yield Sweeps(session, bar, chosen.name)


def _announced_compiling(bar: Progress) -> AbstractContextManager[None]:
    from precall.runtime.compiling import announced_compiling  # takes a while to import

    return announced_compiling(bar)


def _stacked(rows: list[Floats], n: int) -> Floats:
    """One row a ball, none if there are none: (n_balls, n)."""
    return np.array(rows, np.float64).reshape(len(rows), n)
