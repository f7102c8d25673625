"""Whether inception-fid makes the features that published statistics were made of.

    python -m benchmarks.published_fid PICTURES STATISTICS.npz [WEIGHTS]

STATISTICS are mu and sigma that a program published for just these pictures, such as those of
CIFAR-10's training set by TTUR or EDM. Features that are the same have a Fréchet distance of
about 0 to them; other scalings of pictures give distances of a few tenths or more.
"""

import sys

import precall

ALLOWED = 0.01


def main(pictures, statistics, weights=None):
    for resize in ("legacy-tensorflow", "legacy-pytorch", "bicubic"):
        settings = precall.Features("inception-fid", weights=weights, resize=resize)
        features = precall.extract(pictures, settings, progress=True)
        distance = precall.frechet_distance(statistics, features)
        verdict = "the same features" if abs(distance) < ALLOWED else "other features"
        print(f"{resize}: Fréchet distance {distance:.4f}, {verdict}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:4])
