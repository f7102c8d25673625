"""Classifiers that tell real from generated after training, with scikit-learn's ``fit``."""

from precall.estimators.classifiers.kernel import KernelDiscriminant
from precall.estimators.classifiers.linear import LinearEnsemble
from precall.estimators.classifiers.ready_made import READY_MADE, BestOf
from precall.estimators.classifiers.scales import log_odds

__all__ = ["READY_MADE", "BestOf", "KernelDiscriminant", "LinearEnsemble", "log_odds"]
