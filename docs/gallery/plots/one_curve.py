"""
One curve, and what is read off
===============================

A :class:`precall.PRCurve` draws itself, with lines of equal F-score behind it. The
:class:`precall.PRCurveDisplay` that comes back has the axes to add to.
"""

import precall

curve = precall.PRCurve.from_histograms([0.4, 0.4, 0.2, 0.0], [0.3, 0.5, 0.0, 0.2])
ax = curve.plot(color="#0072b2", lw=2, iso_f=True).ax_
median, middle = curve.median(), curve.at(trade_off=1)
ax.plot(median.recall, median.precision, "o", color="#d55e00", label="PR median")
ax.plot(middle.recall, middle.precision, "s", color="#009e73", label="λ = 1")
ax.legend(loc="lower left")

# %%
print(f"F 8 {curve.f_score(8):.3f}, F 1/8 {curve.f_score(1 / 8):.3f}, area {curve.area:.3f}")
