"""precall: how a generative model fails, in exact precision–recall curves and scores."""

from precall import distributions as distributions
from precall import theory as theory
from precall.curves.analytic import GaussianShiftCurve
from precall.curves.display import PRCurveDisplay
from precall.curves.error_rates import ErrorRates, Evidence
from precall.curves.pr_curve import Curve, PRCurve, PrecisionRecall
from precall.data.conversion import convert
from precall.data.feature_sets import FeatureSet
from precall.data.splits import CoinFlip, CrossFit, HoldOut, NoSplit, RepeatedHoldOut
from precall.engines.cluster.engine import Cluster
from precall.errors import ClusterError, InputError, PrecallWarning
from precall.estimators import IPR, KNN, Clusters, Coverage, Likelihood, Parzen, Trained
from precall.evaluation.compare import compare
from precall.evaluation.evaluate import evaluate
from precall.evaluation.two_sample_test import two_sample_test
from precall.extraction.extract import extract
from precall.extraction.settings import Features
from precall.findings.modes import Mode, find_modes
from precall.findings.samples import Samples, SampleTable
from precall.monitoring.gate import Gate, gate
from precall.report import page as page
from precall.results.comparison import Comparison
from precall.results.differences import CurveDifference, Difference
from precall.results.evaluation import Evaluation
from precall.results.sample_size import sample_size
from precall.scores import Ceiling, Metric, Score
from precall.scores.frechet import Moments, frechet_distance
from precall.truth import true_curve
from precall.uncertainty.bands import CurveBand
from precall.uncertainty.two_sample import TwoSampleTest
from precall.version import __version__

__all__ = [
    "IPR",
    "KNN",
    "Ceiling",
    "Cluster",
    "ClusterError",
    "Clusters",
    "CoinFlip",
    "Comparison",
    "Coverage",
    "CrossFit",
    "Curve",
    "CurveBand",
    "CurveDifference",
    "Difference",
    "ErrorRates",
    "Evaluation",
    "Evidence",
    "FeatureSet",
    "Features",
    "Gate",
    "GaussianShiftCurve",
    "HoldOut",
    "InputError",
    "Likelihood",
    "Metric",
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
    "extract",
    "find_modes",
    "frechet_distance",
    "gate",
    "sample_size",
    "true_curve",
    "two_sample_test",
]
