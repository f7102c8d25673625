"""What about two sets makes their comparison doubtful, in words."""

import numpy as np

from precall.data.extraction_notes import differences
from precall.data.feature_sets import FeatureSet

_FEW_SAMPLES = 1000
_MANY_DUPLICATES = 0.01


def caveats(real: FeatureSet, generated: FeatureSet) -> list[str]:
    """Say what about the two sets makes their comparison doubtful, one sentence each."""
    sets = real, generated
    found = []
    if few := [side for side in sets if len(side) < _FEW_SAMPLES]:
        has = " and ".join(f"{side.role} has only {len(side)} samples" for side in few)
        found.append(
            f"{has}; below {_FEW_SAMPLES} every estimate is noisy and neighbour curves are biased "
            "upwards."
        )
    for features in sets:
        n = len(features)
        n_repeated = n - len(np.unique(features.row_hashes))
        if n_repeated >= max(2, _MANY_DUPLICATES * n):
            found.append(
                f"{n_repeated} of the {n} rows of {features.role} repeat an earlier row exactly; "
                "repeated samples are neighbours at distance 0 and shrink the balls."
            )
    if text := _of_features(sets, [side.n_constant for side in sets]):
        found.append(
            f"{text} constant: the same in every sample. Is the extractor saturated, or the input "
            "padded?"
        )
    if text := _of_features(sets, [side.n_copied for side in sets]):
        found.append(
            f"{text} copies of earlier features, which count twice in every distance. Were columns "
            "joined twice?"
        )
    roles = real.role, generated.role
    if unlike := differences(real.extraction, generated.extraction, roles):
        found.append(unlike)
    n_shared = int(np.isin(generated.row_hashes, real.row_hashes).sum())
    if np.array_equal(real.row_hashes, generated.row_hashes):
        found.append(
            "real and generated are the same array; was one of the two passed twice by mistake?"
        )
    elif n_shared:
        found.append(
            f"{n_shared} of the {len(generated)} rows of generated are exact copies of rows of "
            "real; a model that copies its training set scores well on precision."
        )
    return found


def _of_features(sets: tuple[FeatureSet, FeatureSet], counts: list[int]) -> str:
    """Say how many features of which sets are something, if any are."""
    concerned = [(side, count) for side, count in zip(sets, counts, strict=True) if count]
    if not concerned:
        return ""
    d = sets[0].n_features
    if len({count for _, count in concerned}) == 1:
        whose = " and of ".join(side.role for side, _ in concerned)
        told = f"{concerned[0][1]} of the {d} features of {whose}"
    else:
        told = " and ".join(
            f"{count} of the {d} features of {side.role}" for side, count in concerned
        )
    return f"{told} {'is' if sum(count for _, count in concerned) == 1 else 'are'}"
