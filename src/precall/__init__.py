"""precall: how a generative model fails, in exact precision–recall curves and scores."""

from precall.analytic_curve import GaussianShiftCurve
from precall.bands import CurveBand
from precall.comparison import Comparison, Difference, compare
from precall.conversion import convert
from precall.curve import Curve, PRCurve, PrecisionRecall
from precall.display import PRCurveDisplay
from precall.distributions import true_curve
from precall.error_rates import ErrorRates
from precall.errors import InputError, PrecallWarning
from precall.estimators import IPR, KNN, Clusters, Coverage, Likelihood, Parzen, Trained
from precall.evaluation import evaluate
from precall.evidence import Evidence
from precall.features import FeatureSet
from precall.modes import Mode, find_modes
from precall.moments import Moments, frechet_distance
from precall.results import Evaluation
from precall.sample_size import sample_size
from precall.samples import Samples, SampleTable
from precall.scores import Ceiling, Score
from precall.split import CoinFlip, CrossFit, HoldOut, NoSplit, RepeatedHoldOut
from precall.two_sample import TwoSampleTest, two_sample_test
from precall.version import __version__

__all__ = [
    "IPR",
    "KNN",
    "Ceiling",
    "Clusters",
    "CoinFlip",
    "Comparison",
    "Coverage",
    "CrossFit",
    "Curve",
    "CurveBand",
    "Difference",
    "ErrorRates",
    "Evaluation",
    "Evidence",
    "FeatureSet",
    "GaussianShiftCurve",
    "HoldOut",
    "InputError",
    "Likelihood",
    "Mode",
    "Moments",
    "NoSplit",
    "PRCurve",
    "PRCurveDisplay",
    "Parzen",
    "PrecallWarning",
    "PrecisionRecall",
    "RepeatedHoldOut",
    "SampleTable",
    "Samples",
    "Score",
    "Trained",
    "TwoSampleTest",
    "__version__",
    "compare",
    "convert",
    "evaluate",
    "find_modes",
    "frechet_distance",
    "sample_size",
    "true_curve",
    "two_sample_test",
]
