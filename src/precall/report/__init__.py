"""Pictures of results. Reports draw and write; they never compute a score."""

from precall.report.plots import (
    plot_curves,
    plot_k_sensitivity,
    plot_map,
    plot_modes,
    plot_quadrants,
    plot_realism,
    plot_scores,
)

__all__ = [
    "plot_curves",
    "plot_k_sensitivity",
    "plot_map",
    "plot_modes",
    "plot_quadrants",
    "plot_realism",
    "plot_scores",
]
