"""The four methods of Sykes et al. 2024 and some others, and how figures show them."""

from typing import Literal

from precall.report.plots import COLORS

METHODS = ("ipr", "knn", "parzen", "coverage")  # in the order of the paper's tables
K_OF: dict[str, int | Literal["sqrt"]] = {"4": 4, "√n": "sqrt"}
LABEL_OF = {
    "ipr": "iPR",
    "knn": "kNN",
    "parzen": "Parzen",
    "coverage": "coverage",
    "classifier": "trained classifier",
    "best": "best of all",
}
COLOR_OF = {
    "ipr": COLORS[4],
    "knn": COLORS[0],
    "parzen": COLORS[3],
    "coverage": COLORS[2],
    "classifier": COLORS[1],
    "clusters": COLORS[5],
    "best": COLORS[6],
}
