"""precall: exact precision–recall curves for generative models."""

from precall.analytic_curve import GaussianShiftCurve
from precall.curve import Curve, PRCurve, PrecisionRecall
from precall.display import PRCurveDisplay
from precall.distributions import true_curve
from precall.error_rates import ErrorRates
from precall.errors import InputError, PrecallWarning
from precall.estimators import IPR, KNN, Coverage, Evidence, Likelihood, Parzen
from precall.evaluation import evaluate
from precall.features import FeatureSet
from precall.results import Evaluation
from precall.split import CrossFit, HoldOut, NoSplit
from precall.version import __version__

__all__ = [
    "IPR",
    "KNN",
    "Coverage",
    "CrossFit",
    "Curve",
    "ErrorRates",
    "Evaluation",
    "Evidence",
    "FeatureSet",
    "GaussianShiftCurve",
    "HoldOut",
    "InputError",
    "Likelihood",
    "NoSplit",
    "PRCurve",
    "PRCurveDisplay",
    "Parzen",
    "PrecallWarning",
    "PrecisionRecall",
    "__version__",
    "evaluate",
    "true_curve",
]
