"""All experiments, in the order of the papers."""

from precall.experiments import demo_scenarios
from precall.experiments.cheema_urner import cubes, k_robustness, local, toys
from precall.experiments.experiment import Experiment
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

_SYKES = (shift, mixture, outlier, dimension, equal, variability, consistency, summaries)
_CHEEMA = (toys, cubes, k_robustness, local)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (*_SYKES, *_CHEEMA, mode_dropping, demo_scenarios)
}
