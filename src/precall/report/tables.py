"""The tables of a page."""

import math
from collections.abc import Mapping, Sequence

from precall.curves.pr_curve import PRCurve
from precall.curves.summaries import IN_TABLES
from precall.findings.modes import Mode
from precall.report.charts import best_first, shown_trade_off
from precall.results import tables
from precall.results.comparison import Difference
from precall.results.evaluation import Evaluation
from precall.results.tables import Table, decimals, if_known, interval, percent, score_value
from precall.uncertainty.bands import CurveBand

_TRADE_OFFS = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, math.inf)


def summary_table(results: Mapping[str, Evaluation]) -> Table:
    """One row a curve: its summaries, with intervals where they are known."""
    rows = [
        [title, *(tables.summary_value(summary, curve, band, ends=True) for summary in IN_TABLES)]
        for title, curve, band in _curves(results)
    ]
    headings = ["curve", *(summary.heading for summary in IN_TABLES)]
    return Table("Summaries of the curves", headings, rows)


def trade_off_table(results: Mapping[str, Evaluation]) -> Table:
    """Precision and recall of every curve at a few trade-offs."""
    rows = [
        [title, *(f"{p:.3f} / {r:.3f}" for p, r in zip(*curve.at(_TRADE_OFFS), strict=True))]
        for title, curve, _ in _curves(results)
    ]
    headings = ["curve", *(f"λ = {shown_trade_off(lam)}" for lam in _TRADE_OFFS)]
    return Table("Precision / recall at some trade-offs λ", headings, rows)


def score_table(results: Mapping[str, Evaluation]) -> Table:
    """One row a score: all that is known of it, or the values of several models."""
    if len(results) == 1:
        (result,) = results.values()
        named, confidence = result.scores.items(), result.confidence
        return tables.score_table(named, on_page=True, confidence=confidence)
    rows = []
    for name in dict.fromkeys(name for result in results.values() for name in result.scores):
        scores = [result.scores.get(name) for result in results.values()]
        values = [score_value(score, decimals, with_interval=True) for score in scores]
        known = [score for score in scores if score is not None]
        k = next((s.k for s in known if s.k is not None), None)
        expected = next(
            (s.expected_if_equal for s in known if s.expected_if_equal is not None), None
        )
        rows.append([name, if_known(k, str), *values, if_known(expected, decimals)])
    return Table("Scores of every model", ["score", "k", *results, "if P = Q"], rows)


def difference_table(differences: Sequence[Difference]) -> Table:
    """One row a difference that is clear of chance."""
    rows = [
        [d.what, d.first, d.second, f"{d.value:+.3f}", interval(d.interval)]
        for d in differences
        if d.is_clear
    ]
    headings = ["of", "model", "less", "difference", "interval"]
    return Table("Differences that are clear of chance", headings, rows)


def mode_table(modes: Sequence[Mode]) -> Table:
    """One row a mode."""
    rows = [
        [
            str(number),
            f"{percent(mode.real_mass)}\n{interval(mode.real_interval, in_percent=True)}",
            f"{percent(mode.generated_mass)}\n{interval(mode.generated_interval, in_percent=True)}",
            mode.finding,
            f"{mode.p_value:.2g}",
        ]
        for number, mode in enumerate(modes, start=1)
    ]
    return Table("Modes", ["mode", "of real", "of generated", "finding", "p-value"], rows)


def protocol_table(results: Mapping[str, Evaluation]) -> Table:
    """How every result came about."""
    facts = [_protocol_facts(result) for result in results.values()]
    keys = dict.fromkeys(key for of_result in facts for key in of_result)
    rows = [[key, *(of_result.get(key, "") for of_result in facts)] for key in keys]
    return Table("Protocol", ["what", *results], rows)


def _protocol_facts(result: Evaluation) -> dict[str, str]:
    p = result.protocol
    facts = {
        "real samples": f"{p.n}, from {p.sources.get('real', '')}",
        "generated samples": f"{p.m}, from {p.sources.get('generated', '')}",
        "features": f"{p.d}, {p.dtype}",
        "split": p.split,
        "curves": "; ".join(p.estimators.values()),
        "scores as": f"{p.convention} ({p.tie_rule})",
        "seed": str(p.seed),
        "engine": p.engine,
        "versions": ", ".join(f"{name} {version}" for name, version in p.versions.items()),
        "fingerprint of real": p.fingerprints.get("real", ""),
        "fingerprint of generated": p.fingerprints.get("generated", ""),
    }
    if result.confidence is not None:
        facts["confidence of intervals"] = f"{100 * result.confidence:.4g} %"
    if p.choices:
        facts["chosen"] = "; ".join(f"{name}: {', '.join(c)}" for name, c in p.choices.items())
    return facts


def _curves(results: Mapping[str, Evaluation]) -> list[tuple[str, PRCurve, CurveBand | None]]:
    """Return every curve under a title, with its band if it has one."""
    return [
        (name if len(results) == 1 else f"{model}: {name}", curve, result.bands.get(name))
        for model, result in results.items()
        for name, curve in best_first(result).items()
    ]
