"""Pictures of results. Reports draw and write; they never compute a score."""

from precall.report.plots import plot_curves as plot_curves
from precall.report.plots import plot_k_sensitivity as plot_k_sensitivity
from precall.report.plots import plot_modes as plot_modes
from precall.report.plots import plot_quadrants as plot_quadrants
from precall.report.plots import plot_scores as plot_scores
from precall.report.sample_plots import plot_map as plot_map
from precall.report.sample_plots import plot_realism as plot_realism
