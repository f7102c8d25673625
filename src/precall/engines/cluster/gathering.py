"""Orders to workers, answers back: submitted at once, taken as they come, cancelled if not wanted.

Dask chooses workers and tries again what was lost with one of them. What it cannot make again is
what was sent from here: that is sent again.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any

from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError

from precall.engines.cluster.introductions import ONE_ORDER
from precall.engines.cluster.on_workers.carrying_out import Terms, carry_out
from precall.engines.cluster.orders import digest_of_order
from precall.errors import ClusterError

_NOTHING: Mapping[str, Future] = MappingProxyType({})
_numbers = count()
News = SimpleQueue[tuple[str, Future | int]]
# of orders, by their keys: that they ended, or how many pairs they have compared so far
Done = Callable[[int, Any], None]  # called with the number of an order, and its answer
UnderWay = Callable[[int, int], None]  # called with the number of an order, and pairs compared

_TRIES_MORE = 2  # of an order that fails
_LOOK_AROUND = 2.0  # seconds between looks at who is there
_BEFORE_SENDING_AGAIN = 0.5  # seconds, in which a scheduler notices that a worker is gone
logger = logging.getLogger("precall.cluster")


class Gathering:
    """What one session has sent to workers, and how it gets answers.

    Parameters
    ----------
    topic
        What workers report under.
    """

    def __init__(self, client: Client, topic: str) -> None:
        self.client, self.topic = client, topic
        self.computed: list[str] = []  # digests of pieces that were computed, for a checkpoint
        self.found: list[str] = []  # and of those that were there already
        self._sent: dict[str, tuple[Any, Future]] = {}
        self._waiting: list[News] = []  # for what workers report
        self._only: dict[str, str] = {}  # orders that one worker alone carries out, by their keys
        self._workers = self._present()
        self._looked = time.monotonic()
        client.subscribe_topic(topic, self._listen)

    # What is sent

    def send(self, name: str, thing: Any) -> None:
        """Send something to the workers, once."""
        if name not in self._sent:
            self._sent[name] = (thing, self._scatter(thing))

    def forget(self, names: Sequence[str]) -> None:
        """Let go of what was sent under some names, and their parts."""
        for name in [n for n in self._sent if n.partition("/")[0] in names]:
            del self._sent[name]

    def _scatter(self, thing: Any) -> Future:
        """Send something; again, where a worker was lost that it was on the way to."""
        for _ in range(_TRIES_MORE):
            try:
                return self.client.scatter([thing], hash=False)[0]
            except OSError:
                if self.client.status != "running":
                    break
                logger.warning("a worker was lost while an array was sent to it; it is sent again")
                time.sleep(_BEFORE_SENDING_AGAIN)
        try:
            return self.client.scatter([thing], hash=False)[0]
        except OSError as error:
            raise self._lost(0, 0) from error

    def _send_lost_again(self) -> None:
        lost = [name for name, (_, future) in self._sent.items() if future.status != "finished"]
        for name in lost:
            thing, _ = self._sent[name]
            self._sent[name] = (thing, self._scatter(thing))
        if lost:
            logger.warning("%d arrays were lost with a worker, and are sent again", len(lost))

    # Orders

    def submit(
        self,
        order: Any,
        names: Sequence[str],
        terms: Terms,
        made: Mapping[str, Future] = _NOTHING,
        worker: int | None = None,
        *,
        by_nobody_else: bool = False,
    ) -> Future:
        """Have an order carried out, with what was sent under some names and what others make.

        Parameters
        ----------
        worker
            Number of the one that had better do it.
        by_nobody_else
            Whether others do it only if that one is gone.
        """
        addresses = sorted(self._workers)
        chosen = addresses[worker % len(addresses)] if worker is not None and addresses else None
        digest, number = digest_of_order(order), next(_numbers)
        key = f"{type(order).__name__}-{digest}-{number}-{terms.session}"
        if chosen is not None and by_nobody_else:
            self._only[key] = chosen
        things = {name: self._sent[name][1] for name in names}
        return self.client.submit(
            carry_out,
            order,
            digest,
            terms,
            {**things, **made},
            key=key,
            priority=-number,  # in this order: Dask makes no difference between those of 0.1 s
            resources={ONE_ORDER: 1},
            workers=chosen,
            allow_other_workers=chosen is not None and not by_nobody_else,
            retries=_TRIES_MORE,
            pure=False,
        )

    def take(
        self,
        n: int,
        submit: Callable[[int], Future],
        done: Done,
        *,
        left: Collection[int] = (),
        lacks: Callable[[int], None] = lambda i: None,
        under_way: UnderWay = lambda i, n_pairs: None,
    ) -> None:
        """Submit n orders, and take their answers as they come.

        Parameters
        ----------
        submit
            Of an order by its number; once more, if what it depends on was lost.
        left
            Numbers of those whose answers stay with the workers, for other orders.
        lacks
            Called with the number of an order that is submitted again, as a worker lacked rows.
        under_way
            Told how many pairs an order has compared, now and then.
        """
        news: News = SimpleQueue()
        running: dict[int, Future] = {}
        numbers: dict[str, int] = {}  # of orders, by the key of the latest try

        def start(i: int) -> None:
            running[i] = submit(i)
            numbers[running[i].key] = i
            running[i].add_done_callback(lambda future: news.put((future.key, future)))

        def look_around() -> None:
            self._look_around(len(running), n)
            for i in [i for i, future in running.items() if self._waits_in_vain(future.key)]:
                start(i)

        self._waiting.append(news)
        try:
            for i in range(n):
                start(i)
            while running:
                try:
                    key, future = news.get(timeout=_LOOK_AROUND)
                except Empty:
                    look_around()
                    continue
                i = numbers.get(key, -1)  # of another question
                if i not in running or running[i].key != key:
                    continue
                if isinstance(future, int):
                    under_way(i, future)
                    continue
                try:
                    answer = _answer(future, is_left_there=i in left)
                except CancelledError:  # what it depends on is gone, or the scheduler
                    look_around()
                    self._send_lost_again()
                    start(i)
                    continue
                if answer is None:
                    lacks(i)
                    start(i)
                    continue
                del running[i]
                done(i, answer)
                if time.monotonic() - self._looked > _LOOK_AROUND:
                    look_around()
        except CommClosedError as error:
            raise self._lost(len(running), n) from error
        finally:
            self._waiting.remove(news)
            if running:
                with suppress(Exception):  # the scheduler may be gone
                    self.client.cancel(list(running.values()), force=True)

    # Who is there

    def _present(self) -> set[str]:
        info = self.client.scheduler_info(n_workers=-1)
        return set(info["workers"])

    def _look_around(self, n_left: int, n: int) -> None:
        """Say who left and who joined; end where the scheduler is gone."""
        self._looked = time.monotonic()
        try:
            if self.client.status != "running":
                raise OSError(self.client.status)
            present = self._present()
        except (OSError, TimeoutError) as error:
            raise self._lost(n_left, n) from error
        for gone in sorted(self._workers - present):
            logger.warning("worker %s left; others do its pieces", gone)
        for new in sorted(present - self._workers):
            logger.warning("worker %s joined", new)
        if not present and self._workers:
            logger.warning("no worker is left; waiting for others to join")
        self._workers = present

    def _waits_in_vain(self, key: str) -> bool:
        """Whether the one worker that carries an order out is gone."""
        return key in self._only and self._only[key] not in self._workers

    def _lost(self, n_left: int, n: int) -> ClusterError:
        address = self.client.scheduler.address if self.client.scheduler else "?"
        return ClusterError(
            f"the scheduler at {address} was lost with {n - n_left} of {n} pieces of this step "
            "finished. Start it again, and run the same again; with a checkpoint (--checkpoint "
            "DIR) finished pieces are not computed again."
        )

    def _listen(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take down what workers report."""
        told = event[1]
        if "failed" in told:
            logger.warning("a piece failed and is tried again: %s", told["failed"])
        if "order" in told:
            for news in list(self._waiting):
                news.put((told["order"], int(told["compared"])))
        for kind, digests in (("computed", self.computed), ("found", self.found)):
            digests += [told[kind]] if kind in told else []

    def close(self) -> None:
        """Let go of everything that was sent."""
        with suppress(Exception):
            self.client.unsubscribe_topic(self.topic)
        self._sent = {}


def _answer(future: Future, *, is_left_there: bool) -> Any:
    """Return an answer, unless it is left where it is; raise the error that a person should see.

    An answer that is there may be lost with its worker before it is here: only who asks for it
    finds out.
    """
    if future.status == "error":
        raise _explained(future.exception())
    if future.status != "finished":
        raise CancelledError(future.key)
    return () if is_left_there else future.result()


def _explained(error: BaseException) -> BaseException:
    """Return the error that a person should see."""
    if isinstance(error, KilledWorker):
        return ClusterError(
            f"a piece ended several workers, one after the other: {error!s:.300} Workers may need "
            "more memory; see their logs."
        )
    return error
