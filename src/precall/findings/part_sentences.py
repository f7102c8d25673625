"""Classes and modes in words: which are dropped, invented, or produced too rarely or too often."""

from collections.abc import Mapping, Sequence

from precall.data.labels import ClassShare
from precall.findings.modes import Mode
from precall.findings.shares import Finding, SharesCompared, compare_shares

_MOST_SENTENCES = 4  # about modes, and one about the rest
_MOST_NAMED = 5
_MOST_ROWS = 5
_MOST_OF_IT = 0.8  # of the labelled samples of a mode
_WRONG: tuple[Finding, ...] = ("dropped", "invented", "under-produced", "over-produced")
_LEFT_OUT: tuple[Finding, ...] = ("dropped", "under-produced")  # of which real samples tell more


def class_sentences(
    shares: Mapping[str, ClassShare], n: int, m: int, confidence: float
) -> list[str]:
    """Say which classes are missing from one side, and which are too rare or too frequent there.

    A class that one side lacks is dropped or invented if that is unlikely by chance: of all
    classes of equal distributions, with a probability of at most 1 − confidence.
    """
    counts = {
        label: (round(share.real * n), round(share.generated * m))
        for label, share in shares.items()
        if share.real is not None and share.generated is not None
    }
    if not counts:
        return []
    compared = dict(
        zip(counts, compare_shares(list(counts.values()), n, m, 1 - confidence), strict=True)
    )
    by_finding: dict[Finding, list[str]] = {}
    for label, found in compared.items():
        by_finding.setdefault(_finding(found), []).append(label)
    sentences = [
        _told(finding, by_finding[finding], compared) for finding in _WRONG if finding in by_finding
    ]
    usual = {label: counts[label] for label in by_finding.get("as it should be", ())}
    lacking = {label: a for label, (a, b) in usual.items() if b == 0}
    new = {label: b for label, (a, b) in usual.items() if a == 0}
    return [
        *sentences,
        *_too_few(lacking, "generated", "real"),
        *_too_few(new, "real", "generated"),
    ]


def guessed_sentences(guessed: Mapping[str, SharesCompared], labelled: str) -> list[str]:
    """Say which classes are too rare or too frequent where only one side has labels.

    Parameters
    ----------
    labelled
        Which side has labels.
    """
    by_finding: dict[Finding, list[str]] = {}
    for label, found in guessed.items():
        by_finding.setdefault(found.finding, []).append(label)
    by = f", going by the labels of the nearest {labelled} samples."
    return [
        _told(finding, by_finding[finding], guessed).removesuffix(".") + by
        for finding in _WRONG
        if finding in by_finding
    ]


def _too_few(counts: Mapping[str, int], without: str, other: str) -> list[str]:
    """Say which classes one side lacks, where that is no evidence."""
    if not counts:
        return []
    names = [f"{label!r} ({count})" for label, count in counts.items()]
    return [
        f"{_classes(names)} {_listed(names)} {'has' if len(names) == 1 else 'have'} no {without} "
        f"sample, which may be chance with so few {other} ones."
    ]


def _finding(found: SharesCompared) -> Finding:
    """What is wrong with a class; one that a side lacks altogether is dropped or invented."""
    if found.finding == "as it should be":
        return found.finding
    return "dropped" if not found.generated else "invented" if not found.real else found.finding


def _told(finding: Finding, labels: Sequence[str], compared: Mapping[str, SharesCompared]) -> str:
    largest = sorted(labels, key=lambda c: -max(compared[c].real, compared[c].generated))
    told = [
        f"{label!r} ({_amount(compared[label].real, 'real')}, "
        f"{_amount(compared[label].generated, 'generated')})"
        for label in largest
    ]
    are = "is" if len(labels) == 1 else "are"
    return f"{_classes(labels)} {_listed(told)} {are} {finding}."


def _amount(share: float, role: str) -> str:
    return f"{100 * share:.1f} % of {role}" if share else f"none of {role}"


def _classes(labels: Sequence[str]) -> str:
    return "Class" if len(labels) == 1 else "Classes"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - _MOST_NAMED} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def mode_sentences(modes: Sequence[Mode]) -> list[str]:
    """Say which modes or regions differ, each with samples to look at; a handful at most."""
    different = [mode for mode in modes if mode.finding != "as it should be"]
    if not modes:
        return []
    kind = modes[0].kind
    if not different:
        return [f"No {kind} of the data is clearly produced too often or too rarely as a whole."]
    shown = different[:_MOST_SENTENCES]
    if len(different) == _MOST_SENTENCES + 1:
        shown = different
    sentences = [
        f"A {mode.kind} with {_with_ends(mode.real_mass, mode.real_interval)} of real and "
        f"{_with_ends(mode.generated_mass, mode.generated_interval)} of generated"
        f"{_labelled(mode)} is {mode.finding}: look at {_samples(mode)}."
        for mode in shown
    ]
    if rest := different[len(shown) :]:
        findings = dict.fromkeys(mode.finding for mode in rest)
        told = ", ".join(
            f"{sum(mode.finding == finding for mode in rest)} {finding}" for finding in findings
        )
        sentences.append(f"So are {len(rest)} smaller {kind}s: {told}.")
    return sentences


def _labelled(mode: Mode) -> str:
    """Name the labels that most samples of a mode have."""
    named, together = [], 0.0
    for one in mode.labels:
        if together < _MOST_OF_IT:
            named.append(f"{one.label!r} ({100 * one.share:.0f} %)")
            together += one.share
    if not named:
        return ""
    others = [] if together >= _MOST_OF_IT else ["others"]
    return f", labelled {_listed([*named, *others])},"


def _samples(mode: Mode) -> str:
    """Name samples in the middle of a mode: of real, if generated has too few of them."""
    role = "real" if mode.finding in _LEFT_OUT else "generated"
    rows = (mode.nearest_real if role == "real" else mode.nearest_generated)[:_MOST_ROWS]
    return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))} of {role}"


def _with_ends(mass: float, interval: tuple[float, float]) -> str:
    return f"{100 * mass:.1f} % ({100 * interval[0]:.1f} – {100 * interval[1]:.1f})"
