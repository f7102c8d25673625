"""How a result came about, in the sentences that a paper or a model card should carry."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from precall.results.tables import if_known

if TYPE_CHECKING:
    from precall.results.evaluation import Evaluation, Protocol

_LENGTH_OF_CHECKSUM = 12


def protocol_sentence(result: "Evaluation") -> str:
    """Say what a reader needs to repeat the numbers, or to compare others with them.

    Features, number of samples, k, split, convention, confidence, seed and version.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 2))
    >>> result = precall.evaluate(real, generated, estimators=["knn"], scores=["precision"])
    >>> print(protocol_sentence(result))
    300 generated samples were compared with 300 real ones by 2 features. Scores are as in
    precall, at k = 3 (precision). Curves are at k = 17 (knn), split: cross-fit 2. Seed 0,
    precall ....
    """
    p = result.protocol
    parts = [
        f"{p.m} generated samples were compared with {p.n} real ones by {p.d} features{_made(p)}."
    ]
    if result.scores:
        ks = [(n.removesuffix(f"_k{s.k}"), if_known(s.k, str)) for n, s in result.scores.items()]
        told = names_by_k(ks)
        parts.append(f"Scores are as in {p.convention}{f', at k = {told}' if told else ''}.")
    if result.curves:
        ks = [(name, p.shown_k(name)) for name in p.estimators]
        told = f"at k = {found}" if (found := names_by_k(ks)) else f"of {', '.join(p.estimators)}"
        parts.append(f"Curves are {told}, split: {p.split}.")
    if result.confidence is not None:
        parts.append(
            f"Intervals have {100 * result.confidence:.4g} % confidence, for these numbers of "
            "samples."
        )
    parts.append(f"Seed {p.seed}, precall {p.versions.get('precall', 'of unknown version')}.")
    return " ".join(parts)


def names_by_k(named: Iterable[tuple[str, str]], naming: Callable[[str], str] = str) -> str:
    """Write at which k everything was done that has one.

    Examples
    --------
    >>> names_by_k([("precision", "3"), ("recall", "3"), ("density", "5"), ("authenticity", "")])
    '3 (precision, recall); 5 (density)'
    """
    ks: dict[str, list[str]] = {}
    for name, k in named:
        if k and k not in ks.setdefault(name, []):
            ks[name].append(k)
    names: dict[str, list[str]] = {}
    for name, of_name in ks.items():
        names.setdefault(", ".join(of_name), []).append(naming(name))
    return "; ".join(f"{k} ({', '.join(of_k)})" for k, of_k in names.items() if k)


def _made(protocol: "Protocol") -> str:
    """Say which model made the features, of which version and of which weights, if it is known."""
    made = dict.fromkeys(
        (how.get("model", ""), how.get("version", ""), how.get("weights", "none"))
        for how in protocol.extraction.values()
    )
    texts = []
    for model, version, weights in made:
        checksum = "" if weights == "none" else f", weights SHA-256 {weights[:_LENGTH_OF_CHECKSUM]}"
        texts.append(f"{model} (version {version}{checksum})")
    return f" of {' and '.join(texts)}" if texts else ""
