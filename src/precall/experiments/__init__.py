"""The experiments of the papers, done again."""

from precall.experiments import demo_scenarios
from precall.experiments.base import Experiment, Size
from precall.experiments.cheema_urner import (
    autoencoder,
    cubes,
    degraded,
    dropped_digits,
    k_robustness,
    local,
    toys,
)
from precall.experiments.running import Outcome, finished, run_experiment
from precall.experiments.simon import mode_dropping, real_modes
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
_REAL = (real_modes, dropped_digits, autoencoder, degraded)  # pictures that people made
_MODULES = (*_SYKES, *_CHEEMA_URNER, mode_dropping, demo_scenarios, *_REAL)

EXPERIMENTS = {module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES}
