"""Scores as tables, in plain text or HTML."""

from collections.abc import Mapping, Sequence

from precall.curves.pr_curve import PRCurve
from precall.data.labels import ClassShare
from precall.scores import Ceiling, Score
from precall.uncertainty.bands import SUMMARIES, CurveBand
from precall.uncertainty.two_sample import TwoSampleTest

__all__ = ["CURVE_HEADINGS", "band_table", "class_table", "score_table", "test_table"]

CURVE_HEADINGS = {  # name in JSON -> heading of a table
    "max_precision": "max\nprecision",
    "max_recall": "max\nrecall",
    "f_1_8": "F 1/8\n(precision)",
    "f_8": "F 8\n(recall)",
    "f_1": "F 1",
    "median_precision": "median\nprecision",
    "median_recall": "median\nrecall",
    "area": "area",
    "total_variation": "total\nvariation",
}
_CLASSES_SIDE_BY_SIDE = 10


def score_table(scores: Mapping[str, Score], tablefmt: str) -> str:
    """One row a score, with its expected value; several k of one score are columns side by side."""
    ks = sorted({score.k for score in scores.values() if score.k is not None})
    by_name: dict[str, dict[int | None, Score]] = {}
    for name, score in scores.items():
        by_name.setdefault(name.removesuffix(f"_k{score.k}"), {})[score.k] = score
    if max(map(len, by_name.values())) == 1:
        rows = [[name, *_cells(score)] for name, of_k in by_name.items() for score in of_k.values()]
        headings = ["score", "k", "value", "if P = Q"]
        if any(score.interval for score in scores.values()):
            headings.append("interval")
            intervals = [s.interval for of_k in by_name.values() for s in of_k.values()]
            rows = [[*row, _interval(of)] for row, of in zip(rows, intervals, strict=True)]
        ceilings = [s.ceiling for of_k in by_name.values() for s in of_k.values()]
        if any(ceilings):
            headings += ["real", "generated,\nas many"]
            rows = [[*row, *_ceiling(c)] for row, c in zip(rows, ceilings, strict=True)]
        return _tabulate(rows, headings, tablefmt)
    return _tabulate(
        [[name, *_sensitivity(of_k, ks)] for name, of_k in by_name.items()],
        ["score", *(f"k = {k}" for k in ks)],
        tablefmt,
    )


def class_table(
    shares: Mapping[str, ClassShare],
    scores: Mapping[str, Mapping[str, Score]],
    curves: Mapping[str, Mapping[str, PRCurve]],
    tablefmt: str,
) -> str:
    """One column a class: its share of each side, its scores and the F-scores of its curves."""
    labels, tables = list(shares), []
    for start in range(0, len(labels), _CLASSES_SIDE_BY_SIDE):
        chosen = labels[start : start + _CLASSES_SIDE_BY_SIDE]
        rows = [
            ["share of real", *(_percent(shares[label].real) for label in chosen)],
            ["share of generated", *(_percent(shares[label].generated) for label in chosen)],
        ]
        rows += [
            [name, *(_value(scores.get(label, {}).get(name)) for label in chosen)]
            for name in _names(scores)
        ]
        for name in _names(curves):
            of_label = [curves.get(label, {}).get(name) for label in chosen]
            for b, title in ((1 / 8, "F 1/8"), (8.0, "F 8")):
                cells = ["" if curve is None else f"{curve.f_score(b):.4g}" for curve in of_label]
                rows.append([f"{name} curve, {title}", *cells])
        tables.append(_tabulate(rows, ["class", *chosen], tablefmt))
    return "\n\n".join(tables)


def band_table(bands: Mapping[str, CurveBand], tablefmt: str) -> str:
    """One row a curve: the interval of each of its summaries."""
    names = {name: CURVE_HEADINGS[name] for name in CURVE_HEADINGS if name in SUMMARIES}
    confidence = next(iter(bands.values())).confidence
    rows = [
        [curve, *(_interval(band.summaries[name]) for name in names)]
        for curve, band in bands.items()
    ]
    headings = [f"{100 * confidence:.4g} % interval", *names.values()]
    if tablefmt == "html":
        headings = [heading.replace("\n", " ") for heading in headings]
    return _tabulate(rows, headings, tablefmt)


def _ceiling(ceiling: Ceiling | None) -> list[str]:
    return ["", ""] if ceiling is None else [f"{ceiling.perfect:.4g}", f"{ceiling.generated:.4g}"]


def _interval(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.3f} – {interval[1]:.3f}"


def test_table(tests: Mapping[str, TwoSampleTest], tablefmt: str) -> str:
    """One row a curve: how well its classifier tells real from generated, and if by chance."""
    rows = [[name, f"{t.accuracy:.4g}", f"{t.p_value:.2g}"] for name, t in tests.items()]
    return _tabulate(rows, ["test for P = Q", "accuracy", "p-value"], tablefmt)


def _names(of_classes: Mapping[str, Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for of_class in of_classes.values() for name in of_class))


def _cells(score: Score) -> list[str]:
    k = "" if score.k is None else str(score.k)
    expected = "" if score.expected_if_equal is None else f"{score.expected_if_equal:.4g}"
    return [k, _value(score), expected]


def _sensitivity(of_k: Mapping[int | None, Score], ks: Sequence[int]) -> list[str]:
    """A value for each k, in parentheses what it would be if P = Q."""
    if None in of_k:  # a score without k: the same everywhere
        return [_value(of_k[None])] * len(ks)
    cells = []
    for k in ks:
        score = of_k.get(k)
        has_expected = score is not None and score.expected_if_equal is not None
        expected = f" ({score.expected_if_equal:.3f})" if score and has_expected else ""
        cells.append(_value(score) + expected)
    return cells


def _value(score: Score | None) -> str:
    if score is None:
        return ""
    spread = "" if score.standard_deviation is None else f" ± {score.standard_deviation:.2g}"
    return f"{score.value:.4g}{spread}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _tabulate(rows: Sequence[Sequence[str]], headings: Sequence[str], tablefmt: str) -> str:
    from tabulate import tabulate

    align = ["left", *["right"] * (len(headings) - 1)]
    return tabulate(rows, headings, tablefmt, colalign=align, disable_numparse=True)
