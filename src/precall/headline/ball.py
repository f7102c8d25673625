"""How far samples are from their third nearest reference."""

from precall.headline.outlyingness import Outlyingness, settled_epsilon
from precall.headline.views import View


def ball_test(view: View) -> Outlyingness:
    """Distance to the third nearest other reference."""
    share = 100 * (1 - settled_epsilon(len(view.reach)))
    reason = f"farther from {view.role} than {share:.3g} % of {view.role}"
    return Outlyingness("ball", view.reach, view.query_reach, lambda i: reason)
