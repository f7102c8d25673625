"""Are dropped classes named? python -m benchmarks.dropped_classes FOLDER [MODEL].

CIFAR-10's training set against its test set without two random classes, with labels of real only;
and against the whole test set, where nothing should be named. FOLDER as in neighbor_labels.
"""

import sys
from pathlib import Path

import numpy as np

import precall
from benchmarks.neighbor_labels import cifar
from precall.data.feature_sets import FeatureSet
from precall.data.labels import Labels
from precall.findings.class_guesses import guessed_shares

N_REAL = 1600
N_DROPPED = 2
DRAWS = 20
TOO_RARE = ("dropped", "under-produced")


def found(real, generated, labels, seed):
    sets = FeatureSet.of(real, "real"), FeatureSet.of(generated, "generated")
    shares = guessed_shares(sets, Labels.of(labels, None, sets), 0.95, seed)
    return {label: share.finding for label, share in shares.items()}


def main(folder, model="efficientnet-lite0"):
    (first, labels), (second, truth) = cifar(Path(folder))
    real, generated = (np.asarray(precall.extract(part, model)) for part in (first, second))
    rng = np.random.default_rng(0)
    named = wrong = alarms = 0
    for seed in range(DRAWS):
        rows = rng.choice(len(real), N_REAL, replace=False)
        dropped = rng.choice(10, N_DROPPED, replace=False)
        kept = generated[~np.isin(truth, dropped)]
        findings = found(real[rows], kept, labels[rows], seed)
        rare = {label for label, finding in findings.items() if finding in TOO_RARE}
        named += len(rare & {*map(str, dropped)})
        wrong += len(rare - {*map(str, dropped)})
        equal = found(real[rows], generated, labels[rows], seed)
        alarms += any(finding != "as it should be" for finding in equal.values())
    print(f"{named} of {N_DROPPED * DRAWS} dropped classes named, {wrong} others called too rare")
    print(f"training against test set: alarms in {alarms} of {DRAWS} draws")


if __name__ == "__main__":
    main(*sys.argv[1:])
