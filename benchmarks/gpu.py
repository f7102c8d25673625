"""``python -m benchmarks.gpu``: the GPU engine and its peers, written to ``benchmarks/gpu.md``."""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import torch

import precall
from precall.data.device_arrays import DeviceArray
from precall.data.feature_sets import Rows
from precall.engines.gpu.engine import GpuEngine
from precall.engines.protocol import Balls, Meeting, Neighbors

RESULTS = Path(__file__).with_name("gpu.md")
SIZES = [(50_000, 2048, 5), (50_000, 2048, 224), (50_000, 64, 5), (200_000, 2048, 5)]
MILLION = (1_280_000, 2048, 5)
BY_HAND = "<!-- What follows is kept by hand. -->"

CLUSTERS = "clusters {} times as far apart as wide"
NASTY = {
    "Gaussian": lambda x, r: x,
    "sparse (ReLU)": lambda x, r: x.clamp_min(0),
    "offset 1e6": lambda x, r: x.double() + 1e6,
    "one outlier, 1e6 times as far": lambda x, r: torch.cat([x[:1] * 1e6, x[1:]]),
    "one outlier, 1e18 times as far": lambda x, r: torch.cat([x[:1] * 1e18, x[1:]]),
    CLUSTERS.format("100"): lambda x, r: x + 100 * r(len(x), 1).sign(),
    CLUSTERS.format("10 000"): lambda x, r: x + 1e4 * r(len(x), 1).sign(),
    "one feature × 1e4": lambda x, r: torch.cat([x[:, :1] * 1e4, x[:, 1:]], dim=1),
    "100 copies of each row": lambda x, r: x[: len(x) // 100].repeat(100, 1),
    "lognormal, σ = 2": lambda x, r: torch.exp(2 * x),
    "Cauchy": lambda x, r: x / r(*x.shape),
    "heavy-tailed rows": lambda x, r: x / r(len(x), 1).abs(),
    "5 % of rows × 1e4": lambda x, r: torch.cat([x[: len(x) // 20] * 1e4, x[len(x) // 20 :]]),
    "two clusters of width 1e-9": lambda x, r: 1e-9 * x.double() + r(len(x), 1).sign(),
}


def table(rows, headings):
    """A table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def spaced(n):
    return f"{n:,}".replace(",", " ")


def gaussian(n, d, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(n, d, device="cuda", generator=generator)


def timed(function):
    torch.cuda.synchronize()
    start = time.perf_counter()
    found = function()
    torch.cuda.synchronize()
    return time.perf_counter() - start, found


def ours(x, y, k):
    """Seconds of each stage, and the four numbers."""
    real, generated = Rows(DeviceArray(x)), Rows(DeviceArray(y))
    session = GpuEngine("cuda").open(1, lambda n_pairs: None)
    own = [Neighbors(rows, (rows,), [k + 1]) for rows in (real, generated)]

    def place():
        session.place(real, generated)
        session._placed(real)

    seconds, _ = timed(place)
    stages = {"placing": seconds}
    stages["radii of real"], (of_real,) = timed(lambda: session.kth(own[:1]))
    stages["radii of generated"], (of_generated,) = timed(lambda: session.kth(own[1:]))
    balls = Balls(real, generated, of_real[:, 0].T.copy(), of_generated[:, 0].T.copy())
    stages["counts"], (relation,) = timed(lambda: session.relate([Meeting(balls)]))
    session.close()
    counted = relation.of_references.in_others[:, 0]
    numbers = {
        "precision": float((counted > 0).mean()),
        "recall": float((relation.of_queries.in_others[:, 0] > 0).mean()),
        "density": float(counted.mean() / k),
        "coverage": float((relation.of_queries.in_own[:, 0] > 0).mean()),
    }
    return stages, numbers


def by_cdist(x, y, k):
    """The usual way: all distances in float32, and the k-th smallest of each row."""
    radii = [torch.cdist(rows, rows).kthvalue(k + 1, dim=1).values for rows in (x, y)]
    return four_numbers(torch.cdist(x, y), *radii, k)


def by_products(x, y, k):
    """Distances from products in tf32, and the k smallest of each row."""
    torch.backends.cuda.matmul.allow_tf32 = True
    try:

        def distances(a, b):
            norms = [rows.square().sum(dim=1) for rows in (a, b)]
            return (norms[0][:, None] + norms[1] - 2 * a @ b.T).clamp_min_(0).sqrt_()

        radii = [
            distances(rows, rows).topk(k + 1, dim=1, largest=False).values[:, -1] for rows in (x, y)
        ]
        return four_numbers(distances(x, y), *radii, k)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def four_numbers(between, of_real, of_generated, k):
    held = between <= of_real[:, None]
    return {
        "precision": float(held.any(dim=0).float().mean()),
        "recall": float((between <= of_generated).any(dim=1).float().mean()),
        "density": float(held.sum(dim=0).double().mean() / k),
        "coverage": float(held.any(dim=1).float().mean()),
    }


def units(n, d):
    """Seconds of a bare product of all pairs by cuBLAS, in float16 and in tf32."""
    x, y = gaussian(n, d, 0), gaussian(n, d, 1)
    parts = range(0, n, 12_500)
    half = x.half(), y.half()
    torch.backends.cuda.matmul.allow_tf32 = True
    found = []
    for a, b in (half, (x, y)):
        function = lambda a=a, b=b: [a[i : i + 12_500] @ b.T for i in parts][-1]  # noqa: E731
        function()
        found.append(min(timed(function)[0] for _ in range(3)))
    torch.backends.cuda.matmul.allow_tf32 = False
    return found


def best_of_three(n, d, k, make=NASTY["Gaussian"], repeats=3):
    generator = torch.Generator(device="cuda").manual_seed(9)
    random = lambda *shape: torch.randn(*shape, device="cuda", generator=generator)  # noqa: E731
    x, y = make(gaussian(n, d, 0), random), make(gaussian(n, d, 1), random) + 0.02
    ours(x, y, k)
    runs = [ours(x, y, k) for _ in range(repeats)]
    return min(runs, key=lambda run: sum(run[0].values()))


def rows_of_sizes(sizes):
    rows = []
    for n, d, k in sizes:
        stages, numbers = best_of_three(n, d, k)
        rows.append(
            [f"{spaced(n)} × {spaced(n)} × {d}, k = {k}", f"{sum(stages.values()):.3f}"]
            + [f"{seconds:.3f}" for seconds in stages.values()]
            + [f"{value:.4f}" for value in numbers.values()]
        )
        torch.cuda.empty_cache()
    names = ["precision", "recall", "density", "coverage"]
    return table(rows, ["", "seconds", *stages, *names])


def rows_of_peers(n, d, k):
    x, y = gaussian(n, d, 0), gaussian(n, d, 1) + 0.02
    half, single = units(n, d)
    stages, exact = best_of_three(n, d, k)
    seconds = sum(stages.values())
    rows = [
        ["product in float16 (cuBLAS)", f"{half:.3f}", f"{half / half:.1f}", ""],
        ["product in tf32 (cuBLAS)", f"{single:.3f}", f"{single / half:.1f}", ""],
        ["precall, exact", f"{seconds:.3f}", f"{seconds / half:.1f}", "0"],
    ]
    for name, peer in (
        ("cdist and kthvalue, float32", by_cdist),
        ("products and topk, tf32", by_products),
    ):
        peer(x, y, k)
        took, numbers = min(
            (timed(lambda p=peer: p(x, y, k)) for _ in range(2)), key=lambda r: r[0]
        )
        off = max(abs(numbers[key] - exact[key]) for key in exact)
        rows.append([name, f"{took:.3f}", f"{took / half:.1f}", f"{off:.2g}"])
        torch.cuda.empty_cache()
    return table(rows, ["", "seconds", "float16 products", "largest error of four"])


def rows_of_nasty(n, d, k):
    rows, base = [], None
    for name, make in NASTY.items():
        stages, _ = best_of_three(n, d, k, make, repeats=2)
        seconds = sum(stages.values())
        base = base or seconds
        rows.append([name, f"{seconds:.3f}", f"{seconds / base:.1f}"])
        torch.cuda.empty_cache()
    return table(rows, ["", "seconds", "times Gaussian"])


def whole_evaluations(n, d):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((n, d), dtype=np.float32) for _ in range(2))
    options = {"intervals": True, "headline": False}
    from_host = {"engine": "gpu", **options}
    four = {"estimators": (), "scores": ["precision", "recall", "density", "coverage"]}
    tensors = [torch.from_numpy(rows).cuda() for rows in (x, y)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precall.evaluate(x[:2000], y[:2000], **from_host)
        runs = {
            "four curves, default scores, intervals, samples; from host memory": (
                lambda: precall.evaluate(x, y, **from_host)
            ),
            "the four numbers; tensors on the device": lambda: precall.evaluate(
                *tensors, score_k=5, **four
            ),
        }
        rows = []
        for name, run in runs.items():
            run()
            rows.append([name, f"{min(timed(run)[0] for _ in range(2)):.2f}"])
    return table(rows, ["evaluate()", "seconds"])


def millions():
    n, d, k = MILLION
    stages, numbers = ours(gaussian(n, d, 0), gaussian(n, d, 1), k)
    text = ", ".join(f"{name} {seconds:.1f}" for name, seconds in stages.items())
    scores = ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())
    return f"{sum(stages.values()):.1f} s ({text}); {scores}"


SECTIONS = {
    "Four numbers: precision, recall, density, coverage": lambda: rows_of_sizes(SIZES),
    "Beside the usual ways, 50 000 × 50 000 × 2048, k = 5": lambda: rows_of_peers(*SIZES[0]),
    "Nasty data, 50 000 × 50 000 × 256, k = 5": lambda: rows_of_nasty(50_000, 256, 5),
    "Whole evaluations, 50 000 × 50 000 × 2048": lambda: whole_evaluations(50_000, 2048),
    "1 280 000 × 1 280 000 × 2048, k = 5, once": millions,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--million", action="store_true", help="the largest size, too")
    options = parser.parse_args()
    start, device = time.perf_counter(), torch.cuda.get_device_name()
    _, mark, kept = RESULTS.read_text().partition(BY_HAND)
    written = [
        f"# The GPU engine\n\n`python -m benchmarks.gpu`, {device}, torch {torch.__version__}. "
        "Best of three after a warm-up; features on the device unless said otherwise. Every number "
        "is exact: the same bits as on the CPU."
    ]
    for title, section in SECTIONS.items():
        if section is millions and not options.million:
            continue
        written.append(f"## {title}\n\n{section()}")
        text = "\n\n".join([*written, mark + kept])
        options.out.write_text(text)  # what there is, if time runs out
        print(f"{time.perf_counter() - start:.0f} s\n\n{written[-1]}\n", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
