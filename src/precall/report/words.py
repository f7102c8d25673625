"""What scores and curves are called in pictures and on a page: words, where Python has names."""

import re

from precall.curves.summaries import CURVE_SUMMARIES
from precall.scores import HEADLINE, METRICS

_PROPER = {
    "f_score": "F-score",
    "recall_at_half": "recall at ½",
    "alpha_precision": "α-precision",
    "beta_recall": "β-recall",
    "frechet_distance": "Fréchet distance",
}
_NAMES = "|".join(sorted((name for name in (*METRICS, *HEADLINE) if "_" in name), key=len)[::-1])
_SCORE = re.compile(rf"(?<![\w./\\-])(?:{_NAMES})(?:_k\d+)?(?![\w./\\-]*[\w/\\])")
_AT_K = re.compile(r"(?P<name>.+)_k(?P<k>\d+)")


def in_words(name: str) -> str:
    """Write the name of a score or of a curve in words.

    Examples
    --------
    >>> in_words("precision_cover_k10"), in_words("frechet_distance"), in_words("knn")
    ('precision cover, k = 10', 'Fréchet distance', 'knn')
    """
    if at_k := _AT_K.fullmatch(name):
        return f"{in_words(at_k['name'])}, k = {at_k['k']}"
    return _PROPER.get(name, name.replace("_", " "))


def sentence_in_words(sentence: str) -> str:
    """Write the names of scores in a sentence in words.

    Examples
    --------
    >>> sentence_in_words("the smaller of precision and precision_coverage")
    'the smaller of precision and precision coverage'
    """
    return re.sub(r"\w+_\w+", lambda name: in_words(name[0]), sentence)


def names_in_words(text: str) -> str:
    """Write the names of scores in a text in words, and leave everything else as it is.

    Examples
    --------
    >>> names_in_words("recall_cover_k3 is low; real: my_file.csv, recall_cover.csv")
    'recall cover, k = 3 is low; real: my_file.csv, recall_cover.csv'
    """
    return _SCORE.sub(lambda name: in_words(name[0]), text)


def difference_in_words(what: str) -> str:
    """Write in words of what two models differ: a score, or a summary of a curve.

    Examples
    --------
    >>> difference_in_words("f_1_8 of the knn_k5 curve"), difference_in_words("recall_k3")
    ('F 1/8 of the knn, k = 5 curve', 'recall, k = 3')
    """
    key, _, curve = what.removesuffix(" curve").partition(" of the ")
    if curve and key in CURVE_SUMMARIES:
        return f"{CURVE_SUMMARIES[key].name} of the {in_words(curve)} curve"
    return in_words(what)


def estimator_in_words(curve: str, written: str) -> str:
    """Write the estimator of a curve, with its parameters but for k, in words.

    Examples
    --------
    >>> estimator_in_words("classifier", "Trained(estimator=None)")
    'classifier'
    >>> estimator_in_words("clusters", "Clusters(n_clusters=20, runs=10)")
    'clusters (n clusters = 20, runs = 10)'
    >>> estimator_in_words("classifier_forest", "Trained(estimator=Forest(depth=3))")
    'classifier forest: Forest(depth=3)'
    """
    name = in_words(curve)
    parameters = written.partition("(")[2].removesuffix(")")
    if "(" in parameters:  # somebody's own object, which only its own notation tells
        return f"{name}: {parameters.removeprefix('estimator=')}"
    pairs = [pair.partition("=") for pair in parameters.split(", ") if "=" in pair]
    told = [f"{in_words(key)} = {value}" for key, _, value in pairs if _tells(key, value)]
    return f"{name} ({', '.join(told)})" if told else name


def _tells(parameter: str, value: str) -> bool:
    """Whether a parameter is told nowhere else: k has a line of its own, a name is in a curve's."""
    return parameter not in ("k", "estimator") and value != "None"
