"""evaluate(): the whole road from two sets of samples to a result."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from precall.data.feature_sets import FeatureSet, ReadFeatures
from precall.data.splits import Split
from precall.engines import Engine, is_cluster
from precall.errors import check_integer
from precall.estimators import NEIGHBOR_ESTIMATORS, Estimator
from precall.evaluation.flow import evaluate_sets
from precall.evaluation.settings import Settings
from precall.evaluation.whole_sets import check_needs_no_whole_set, say_what_stays_here
from precall.extraction.extract import extract_all
from precall.neighbors.sweeps import open_sweeps
from precall.results.evaluation import Evaluation
from precall.runtime.written_calls import python_call
from precall.scores import Metric


def evaluate(
    real: object,
    generated: object,
    *,
    features: object = None,
    estimators: Sequence[str | Estimator] = tuple(NEIGHBOR_ESTIMATORS),
    scores: Sequence[str | Metric] | str | None = None,
    score_k: int | Sequence[int] | None = None,
    headline: bool | None = None,
    split: bool | float | Split | Literal["auto"] | None = "auto",
    seed: int = 0,
    engine: str | Engine = "auto",
    convention: str = "precall",
    labels_real: object = None,
    labels_generated: object = None,
    intervals: bool = False,
    confidence: float = 0.95,
    ceiling: object = False,
    modes: int | Literal["auto"] | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Evaluation:
    """Measure how a generative model fails: precision–recall curves, scores, single samples.

    Parameters
    ----------
    real, generated
        Features of both sets of samples, one row a sample: arrays, tensors, columns of vectors, or
        paths; see :class:`precall.FeatureSet`. The two may differ in length.
    features
        How to make features of pictures, texts or sounds: the name of an extractor
        (``"efficientnet-lite0"``, ``"minilm"``, ``"auto"``; ``precall features`` lists them), a
        function from a list of inputs to an array, or :class:`precall.Features`. Both sets are then
        folders, archives, columns, arrays of pixels or lists; see :func:`precall.extract`. By
        default they are features already.
    estimators
        Names (``"ipr"``, ``"coverage"``, ``"knn"``, ``"parzen"``, ``"classifier"``,
        ``"clusters"``) or objects such as ``precall.KNN(k=100)`` and
        ``precall.Trained("forest")``. Names stand for the defaults, ``k="sqrt"`` among them. By
        default the four that look at neighbours; in many dimensions add the classifier.
    scores
        Names of scalar scores, objects such as ``precall.Metric(...)``, ``"all"``, or ``()`` for
        none. By default those of the headline, precision, recall, density, coverage and the two
        covers, or what the chosen convention's program prints.
    score_k
        Number of neighbours of the scores, or several; by default each score's own.
    headline
        Whether ``support_precision``, ``support_recall`` and ``recall_at_half`` are to be among the
        scores; by default where ``scores`` is not a list, and no other program is reproduced.
    split
        Who fits the classifiers and who is evaluated by them: ``"auto"`` is ``CrossFit(2)``, which
        uses every sample on both sides, never at once, and with intervals ``RepeatedHoldOut(4)``;
        ``True`` is the paper's single 50 % split, a float another share to fit on,
        ``precall.CoinFlip()`` the pairs of Simon et al. 2019, ``False`` no split at all.
    seed
        Of all chance: the split, trained classifiers, the subsets of ``kernel_distance``.
    engine
        ``"cpu"``, ``"gpu"``, ``"gpu:1"`` for another device, or ``"auto"``: a GPU where one is
        present and the work is worth it, or the samples are on it. A ``distributed.Client``,
        ``"dask"``, ``"dask:tcp://scheduler:8786"`` or :class:`precall.Cluster`: workers of Dask,
        which read files themselves. All return the same numbers.
    convention
        Whose definitions the scores follow: ``"precall"``, or a program to reproduce, such as
        ``"prdc"`` or ``"torch-fidelity"``.
    labels_real, labels_generated
        The class of each sample, integers or text, of either side or both: then every score and
        curve is also measured class by class. A side without labels stays whole.
    intervals
        Whether to tell how uncertain scores, and with a ``RepeatedHoldOut`` curves, are.
    confidence
        Of the intervals.
    ceiling
        ``True`` to tell beside each score what a perfect generator would reach, which is what half
        of real reaches against the other half; or the features of other real samples to take its
        place.
    modes
        Number of modes to look for in the union, or ``"auto"``: which of them are dropped,
        invented, over- or under-produced; see :func:`precall.find_modes`.
    threads
        Number of threads; ``None`` for one a core. Never changes a number.
    progress
        Whether to show a progress bar on standard error.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np, precall
    >>> rng = np.random.default_rng(0)
    >>> real, generated = rng.normal(0, 1, (1000, 8)), rng.normal(0.5, 1, (1200, 8))
    >>> result = precall.evaluate(real, generated, estimators=["knn"])
    >>> result.protocol.k["knn"], result.protocol.split
    (32, 'cross-fit 2')
    >>> round(result.curves["knn"].f_score(), 2)
    0.52
    >>> result.scores["coverage"].value, round(result.scores["coverage"].expected_if_equal, 3)
    (0.807, 0.981)
    """
    call = python_call(evaluate, locals())
    if threads is not None:
        check_integer("threads", threads, 1)
    settings = Settings.of(
        estimators=estimators,
        scores=scores,
        score_k=score_k,
        headline=headline,
        split=split,
        seed=seed,
        convention=convention,
        labels_real=labels_real,
        labels_generated=labels_generated,
        intervals=intervals,
        confidence=confidence,
        ceiling=ceiling,
        modes=modes,
    )
    if features is not None:
        given = {"real": real, "generated": generated}
        given |= {} if isinstance(ceiling, bool) else {"ceiling": ceiling}
        made = extract_all(given, features, progress=progress)
        real, generated = made["real"], made["generated"]
        settings = replace(settings, ceiling=made.get("ceiling", ceiling))
    stays = is_cluster(engine)
    read = (
        ReadFeatures.of(real, "real", stays_in_files=stays),
        ReadFeatures.of(generated, "generated", stays_in_files=stays),
    )
    rows = [side.rows for side in read]
    check_needs_no_whole_set(settings, rows)
    if stays:
        say_what_stays_here(settings)
    with open_sweeps(engine, rows=rows, threads=threads, progress=progress) as sweeps:
        first, second = (FeatureSet.checked(side, sweeps.session) for side in read)
        sets = first, second
        sweeps.session.begin(settings.about(sets))
        with sweeps.placed(*sets):
            return evaluate_sets(settings, sets, sweeps, call)
