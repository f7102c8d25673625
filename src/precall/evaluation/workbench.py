"""What an evaluation works with: an engine's session, the driver over it, and progress."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from precall.data.feature_sets import FeatureSet
from precall.engines import Engine, Session, choose_engine
from precall.neighbors.statistics import NeighborStatistics
from precall.neighbors.sweeps import Ask, Sweeps
from precall.runtime.progress import Progress, progress_bar
from precall.runtime.threads import n_threads


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """Sets that are placed, and who asks about them."""

    engine: str  # name
    session: Session
    sweeps: Sweeps
    progress: Progress

    @contextmanager
    def placed(self, *sets: FeatureSet) -> Iterator[None]:
        """Hold some sets for a while."""
        self.session.place(*(side.rows for side in sets))
        try:
            yield
        finally:
            for side in sets:
                self.session.drop(side.rows)
                self.sweeps.forget(side.rows)

    def measure(self, asked: Sequence[Ask], what: str) -> list[NeighborStatistics]:
        """Answer everything that is asked about neighbours."""
        self.progress.doing(what)
        return self.sweeps.measure(asked)


@contextmanager
def open_workbench(
    engine: str | Engine = "auto", *, threads: int | None = None, progress: bool = False
) -> Iterator[Workbench]:
    """Open a session of an engine, with a progress bar if one is wanted."""
    chosen, workers = choose_engine(engine), n_threads(threads)
    with progress_bar(shown=progress) as bar, chosen.open(workers, bar.advance) as session:
        yield Workbench(chosen.name, session, Sweeps(session), bar)
