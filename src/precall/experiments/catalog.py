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

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        shift.EXPERIMENT,
        mixture.EXPERIMENT,
        outlier.EXPERIMENT,
        dimension.EXPERIMENT,
        equal.EXPERIMENT,
        variability.EXPERIMENT,
        consistency.EXPERIMENT,
        summaries.EXPERIMENT,
        toys.EXPERIMENT,
        cubes.EXPERIMENT,
        k_robustness.EXPERIMENT,
        local.EXPERIMENT,
        mode_dropping.EXPERIMENT,
        demo_scenarios.EXPERIMENT,
    )
}
