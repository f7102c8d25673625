"""Classifiers that tell real from generated after training, with scikit-learn's ``fit``."""

from precall.estimators.classifiers.best_of import BestOf
from precall.estimators.classifiers.kernel import KernelDiscriminant
from precall.estimators.classifiers.linear import LinearEnsemble
from precall.estimators.classifiers.log_odds import log_odds
from precall.estimators.classifiers.ready_made import READY_MADE

__all__ = ["READY_MADE", "BestOf", "KernelDiscriminant", "LinearEnsemble", "log_odds"]
