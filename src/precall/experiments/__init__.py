"""The experiments of the papers, done again."""

from precall.experiments.catalog import EXPERIMENTS
from precall.experiments.experiment import Experiment, Size
from precall.experiments.running import Outcome, finished, run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Size", "finished", "run_experiment"]
