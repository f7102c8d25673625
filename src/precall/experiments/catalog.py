"""All experiments, in the order of the papers."""

from precall.experiments import (
    consistency,
    cubes,
    demo_scenarios,
    dimension,
    equal,
    k_robustness,
    local,
    mixture,
    mode_dropping,
    outlier,
    shift,
    summaries,
    toys,
    variability,
)
from precall.experiments.experiment import Experiment

_SYKES = (shift, mixture, outlier, dimension, equal, variability, consistency, summaries)
_CHEEMA = (toys, cubes, k_robustness, local)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (*_SYKES, *_CHEEMA, mode_dropping, demo_scenarios)
}
