"""Whether numbers of several results may be compared: what must be alike."""

from collections.abc import Callable

from precall.results.evaluation import Evaluation

MATTERS: dict[str, Callable[[Evaluation], object]] = {
    "the number of real samples": lambda result: result.protocol.n,
    "the number of generated samples": lambda result: result.protocol.m,
    "the number of features": lambda result: result.protocol.d,
    "the real samples": lambda result: result.protocol.fingerprints.get("real"),
    "the extraction of features": lambda result: extraction_of_real(result),
    "the split": lambda result: result.protocol.split,
    "the convention of the scores": lambda result: result.protocol.convention,
    "the tie rule": lambda result: result.protocol.tie_rule,
    "the confidence of intervals": lambda result: result.confidence,
    "the version of precall": lambda result: result.protocol.versions.get("precall"),
}
_ONLY_OF_CURVES = {"the split"}
_ONLY_OF_SCORES = {"the convention of the scores", "the tie rule"}
_ALLOWED = {"the confidence of intervals", "the version of precall"}


def extraction_of_real(result: Evaluation) -> str:
    """Say how real samples became features, as far as it decides numbers."""
    how = result.protocol.extraction.get("real", {})
    kept = ("model", "version", "weights", "preprocessing")
    return "; ".join(how[key] for key in kept if key in how) or "unknown"


def why_not_comparable(one: Evaluation, other: Evaluation, *, of_curve: bool) -> str | None:
    """Name the first thing that makes numbers of two results another measure, if there is any.

    Intervals of another confidence can be converted, and versions of precall are no matter here.
    """
    passed_over = _ALLOWED | (_ONLY_OF_SCORES if of_curve else _ONLY_OF_CURVES)
    for what, read in MATTERS.items():
        ours, theirs = read(one), read(other)
        if what in passed_over or ours == theirs:
            continue
        if what == "the real samples":
            return f"{what} differ (fingerprints {ours} and {theirs})"
        return f"{what} differs ({ours} and {theirs})"
    return None
