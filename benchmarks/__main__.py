"""``python -m benchmarks``: print the tables and write ``benchmarks/results.md``."""

import argparse
import platform
from functools import partial
from pathlib import Path

import numpy as np
from tabulate import tabulate

import precall
from benchmarks import bare_products, contenders, memory, nasty
from benchmarks.measuring import extra_memory, interleaved, samples
from precall.engines.cpu.kernel_choice import best_kernel

RESULTS = Path(__file__).with_name("results.md")


def four_numbers(n, d, k, rounds, with_peers=True):
    """(a): the four numbers of prdc, by everyone."""
    real, generated = samples(n, d)
    product = np.empty((n, n), np.float32)
    functions = {
        "unit (sgemm)": lambda: contenders.unit(real, generated, k, product),
        "precall": lambda: contenders.precall_four(real, generated, k),
    }
    peers = contenders.installed_peers() if with_peers else {}
    functions |= {name: partial(peer, real, generated, k) for name, peer in peers.items()}
    seconds = interleaved(functions, rounds)
    for peer in peers.values():  # everyone must have computed the same thing
        ours, theirs = contenders.precall_four(real, generated, k), peer(real, generated, k)
        assert all(abs(ours[name] - theirs[name]) < 2e-3 for name in ours), (ours, theirs)
    measured = {"precall": contenders.precall_four, **peers}
    memory = {name: f"{extra_memory(function, n, d, k):.0f}" for name, function in measured.items()}
    unit, ours = seconds["unit (sgemm)"], seconds["precall"]
    rows = [
        [name, f"{s:.3f}", f"{s / unit:.2f}", f"{s / ours:.1f}", memory.get(name, "")]
        for name, s in seconds.items()
    ]
    headings = ["", "seconds", "units", "times precall", "extra MB"]
    return f"### (a) Four scores: n = m = {n}, d = {d}, k = {k}\n\n" + tabulate(
        rows, headings, "github"
    )


def everything(n, d, rounds):
    """(b): all four curves, and scores without the headline, against (a) at k = 100."""
    real, generated = samples(n, d)
    product = np.empty((n, n), np.float32)
    folds, ks = precall.CrossFit(2), [1, 3, 5, 10, 20]
    curves = partial(contenders.four_curves, real, generated)
    seconds = interleaved(
        {
            "unit (sgemm)": lambda: contenders.unit(real, generated, 0, product),
            "(a) at k = 100": lambda: contenders.precall_four(real, generated, 100),
            "four curves, the paper's split, default scores": lambda: curves(True),
            "four curves, no split": lambda: curves(False, ()),
            "… and neighbour scores at five k": (
                lambda: curves(False, contenders.NEIGHBOR_SCORES, ks)
            ),
            "four curves, two folds": lambda: curves(folds, ()),
            "… and default scores": lambda: curves(folds),
            "… and neighbour scores at five k, two folds": (
                lambda: curves(folds, contenders.NEIGHBOR_SCORES, ks)
            ),
            "… and every score at five k, two folds": lambda: curves(folds, "all", ks),
        },
        rounds,
    )
    unit, four = seconds["unit (sgemm)"], seconds["(a) at k = 100"]
    rows = [[name, f"{s:.3f}", f"{s / unit:.2f}", f"{s / four:.2f}"] for name, s in seconds.items()]
    headings = ["", "seconds", "units", "times (a)"]
    return f"### (b) Curves, without headline: n = m = {n}, d = {d}\n\n" + tabulate(
        rows, headings, "github"
    )


def with_intervals(n, d, rounds):
    """(c): what intervals cost, of the default scores and of all, without the headline."""
    real, generated = samples(n, d)
    seconds = interleaved(
        {
            (scores, intervals): partial(
                precall.evaluate,
                real,
                generated,
                scores=scores,
                intervals=intervals,
                headline=False,
            )
            for scores in (None, "all")
            for intervals in (False, True)
        },
        rounds,
    )
    rows = [
        [
            f"four curves, {'every score' if scores else 'default scores'}",
            f"{seconds[scores, False]:.3f}",
            f"{seconds[scores, True]:.3f}",
            f"{seconds[scores, True] / seconds[scores, False]:.2f}",
        ]
        for scores in (None, "all")
    ]
    headings = ["", "seconds", "with intervals", "times"]
    return f"### (c) Intervals, without headline: n = m = {n}, d = {d}\n\n" + tabulate(
        rows, headings, "github"
    )


def default_run(n, d, rounds):
    """(d): what the command line does by default, without headline, page and modes."""
    real, generated = samples(n, d)
    product = np.empty((n, n), np.float32)
    run = partial(precall.evaluate, real, generated, headline=False, intervals=True)
    seconds = interleaved(
        {
            "unit (sgemm)": lambda: contenders.unit(real, generated, 0, product),
            "four curves over four halves, default scores, intervals": run,
        },
        rounds,
    )
    unit = seconds["unit (sgemm)"]
    rows = [[name, f"{s:.3f}", f"{s / unit:.2f}"] for name, s in seconds.items()]
    headings = ["", "seconds", "units"]
    heading = f"### (d) The default run of the command line: n = m = {n}, d = {d}\n\n"
    return heading + "Without headline, page and modes.\n\n" + tabulate(rows, headings, "github")


def growth(sizes, d, k, rounds):
    """Seconds of (a) as n doubles."""
    seconds = []
    for n in sizes:
        real, generated = samples(n, d)
        run = partial(contenders.precall_four, real, generated, k)
        seconds.append(interleaved({"precall": run}, rounds)["precall"])
    rows = [
        [n, f"{s:.3f}", f"{s / before:.2f}" if before else ""]
        for n, s, before in zip(sizes, seconds, [None, *seconds], strict=False)
    ]
    headings = ["n = m", "seconds", "times the size before"]
    return f"### Growth: d = {d}, k = {k}\n\n" + tabulate(rows, headings, "github")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    quick = parser.parse_args().quick
    n, large = (1000, 3000) if quick else (10_000, 50_000)
    rounds = 3
    sections = [
        "# Benchmarks\n\nWritten by `make bench`. Times are medians of interleaved rounds on one "
        "machine; compare ratios, not seconds. One unit is one n × m × d product of single "
        "precision by NumPy's BLAS.\n\n"
        f"Machine: {platform.machine()}, {contenders.n_cores()} cores, kernel "
        f"{best_kernel().name}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"BLAS {bare_products.blas()}."
    ]
    tasks = [
        partial(bare_products.table, n),
        partial(four_numbers, n, 64, 5, rounds),
        partial(four_numbers, n, 64, 100, rounds),
        partial(four_numbers, n, 2048, 5, rounds),
        partial(four_numbers, n, 2048, 100, rounds, with_peers=False),
        partial(everything, n, 64, rounds),
        partial(everything, n, 2048, rounds),
        partial(with_intervals, n, 64, rounds),
        partial(with_intervals, n, 2048, rounds),
        partial(default_run, n, 64, rounds),
        partial(default_run, n, 2048, rounds),
        partial(default_run, 2 * n, 768, rounds),
        partial(four_numbers, large, 64, 5, rounds, with_peers=False),
        partial(memory.table, large),
        partial(growth, [n // 2, n, 2 * n, 4 * n], 64, 5, rounds),
        partial(nasty.tables, rounds, n=n // 5 * 4),
    ]
    for task in tasks:
        sections.append(task())
        print(sections[-1], flush=True, end="\n\n")
    if not quick:
        RESULTS.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
        print(f"Written to {RESULTS}")


if __name__ == "__main__":
    main()
