"""From evidence to exact precision-recall curves, and what sums them up."""
