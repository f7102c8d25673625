"""One progress bar for work in several parts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from precall.engines import Progress

__all__ = ["progress_bar", "silent"]


@contextmanager
def progress_bar(n_parts: int, *, shown: bool) -> Iterator[Callable[[], Progress]]:
    """Yield a function that makes the progress callback of the next part, all feeding one bar."""
    from tqdm.auto import tqdm

    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(total=n_parts, disable=not shown, desc="precall", bar_format=layout) as bar:
        parts = iter(range(n_parts))

        def next_progress() -> Progress:
            i = next(parts)

            def report(done: int, total: int) -> None:
                bar.update(i + done / total - bar.n)

            return report

        yield next_progress


def silent(done: int, total: int) -> None:
    """Report no progress."""
