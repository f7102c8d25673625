"""The experiments of the papers, done again."""

from precall.experiments import demo_scenarios
from precall.experiments.base import Experiment, Size
from precall.experiments.cheema_urner import cubes, k_robustness, local, toys
from precall.experiments.running import Outcome, finished, run_experiment
from precall.experiments.simon import mode_dropping
from precall.experiments.sykes import (
    consistency,
    dimension,
    equal,
    mixture,
    outlier,
    shift,
    summaries,
    variability,
)

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Size", "finished", "run_experiment"]

# In the order of the papers.
_SYKES = (shift, mixture, outlier, dimension, equal, variability, consistency, summaries)
_CHEEMA_URNER = (toys, cubes, k_robustness, local)
_MODULES = (*_SYKES, *_CHEEMA_URNER, mode_dropping, demo_scenarios)

EXPERIMENTS = {module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES}
