"""How far the work is: one number that only grows, and a name for what is going on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class Progress:
    """Work announced and work done, in pairs of samples compared or what takes about as long.

    Announcements are estimates: more work than was announced only holds the share at its end, and
    work that is announced late never takes it back. ``show`` is called with the share that is done,
    from 0 to 1, and what is being done.

    Examples
    --------
    >>> progress = Progress(lambda share, doing: print(f"{share:.0%} {doing}"))
    >>> progress.announce(4)
    >>> progress.doing("counting")
    0% counting
    >>> progress.advance(3)
    75% counting
    """

    def __init__(self, show: Callable[[float, str], None] | None = None) -> None:
        self._show = show
        self._lock = Lock()
        self._announced = 0.0
        self._done = 0.0
        self._share = 0.0
        self._doing = ""

    def announce(self, work: float) -> None:
        """Say that there is work to come."""
        self._announced += work

    def doing(self, what: str) -> None:
        """Name what is going on from now on."""
        self._doing = what
        self.advance(0)

    @property
    def what(self) -> str:
        """What is going on."""
        return self._doing

    def advance(self, work: float) -> None:
        """Report work that was done; from any thread."""
        with self._lock:
            self._done += work
            if self._announced:
                self._share = max(self._share, min(self._done / self._announced, 1.0))
            if self._show is not None:
                self._show(self._share, self._doing)


@contextmanager
def progress_bar(*, shown: bool) -> Iterator[Progress]:
    """Yield what feeds one bar on standard error."""
    if not shown:
        yield Progress()
        return
    from tqdm.auto import tqdm

    layout = "precall: {percentage:3.0f}%|{bar}| {elapsed}<{remaining} {desc}"
    with tqdm(total=1.0, bar_format=layout) as bar:

        def show(share: float, doing: str) -> None:
            is_new = doing != bar.desc  # and may have to stand for long
            bar.set_description_str(doing, refresh=is_new)
            bar.update(share - bar.n)

        yield Progress(show)
        show(1.0, "")
