"""Whether results may be put side by side."""

from collections.abc import Mapping

from precall.monitoring.comparable import MATTERS
from precall.report.words import in_words
from precall.results.evaluation import Evaluation

_TOO_LONG_TO_SHOW = {"the real samples"}


def protocol_differences(results: Mapping[str, Evaluation]) -> list[str]:
    """Say in sentences what was done differently; such numbers cannot be compared."""
    found = [
        _sentence(what, {name: read(result) for name, result in results.items()})
        for what, read in MATTERS.items()
    ]
    curves = dict.fromkeys(name for result in results.values() for name in result.curves)
    for curve in curves:
        ks = {n: r.protocol.k[curve] for n, r in results.items() if curve in r.curves}
        found.append(_sentence(f"the k of the {in_words(curve)} curve", ks))
    scores = dict.fromkeys(name for result in results.values() for name in result.scores)
    for score in scores:
        ks = {n: r.scores[score].k for n, r in results.items() if score in r.scores}
        found.append(_sentence(f"the k of the score {in_words(score)}", ks))
    return [sentence for sentence in found if sentence]


def _sentence(what: str, values: Mapping[str, object]) -> str:
    if len(set(values.values())) <= 1:
        return ""
    if what in _TOO_LONG_TO_SHOW:
        return f"{what[0].upper()}{what[1:]} differ."
    listed = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{what[0].upper()}{what[1:]} differs ({listed})."
