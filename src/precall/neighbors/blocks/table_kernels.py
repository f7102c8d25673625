"""What the samples of one block are to each other, read off a table of distances."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Related(NamedTuple):
    """Output: what each sample of a class in the block is to the other class in it."""

    in_own: Any  # (n, n_own_balls) others in each of its own balls
    in_others: Any  # (n, n_other_balls) balls of others that hold it
    nearest: Any  # (n,) place of the nearest in the block, the first if several
    squared: Any  # (n,) squared distance to it; inf at first
    is_held: Any  # (n, n_other_balls) by the ball of the nearest, or of one as near


@njit(cache=True, nogil=True)
def radii_in_block(order, squared, members, is_member, ks, radii):
    """Squared distance of each member to its k-th neighbour in the block, for ascending ks.

    Parameters
    ----------
    order, squared
        (n, n − 1) all others, nearest first, and how far.
    radii
        Output, (n_ks, n_members).
    """
    for i in range(len(members)):
        n_seen, at = 0, 0
        for t in range(order.shape[1]):
            if not is_member[order[members[i], t]]:
                continue
            n_seen += 1
            if n_seen == ks[at]:
                radii[at, i] = squared[members[i], t]
                at += 1
                if at == len(ks):
                    break


@njit(cache=True, nogil=True)
def _widest(thresholds, n):
    widest = np.full(n, -1.0)
    for ball in range(len(thresholds)):
        widest = np.maximum(widest, thresholds[ball])
    return widest


@njit(cache=True, nogil=True)
def clipped_in_block(order, squared, members, places, thresholds, counts):
    """Count the balls of other members around each.

    Parameters
    ----------
    places
        (n,) where a sample stands in the block; negative outside of it.
    thresholds
        (n_balls, n_members).
    counts
        Output, (n_members, n_balls), added to.
    """
    widest = _widest(thresholds, len(members))
    for i in range(len(members)):
        for t in range(order.shape[1]):
            distance = squared[members[i], t]
            if distance > widest[i]:
                break
            j = places[order[members[i], t]]
            if j >= 0:
                for ball in range(len(thresholds)):
                    counts[j, ball] += distance <= thresholds[ball, i]


@njit(cache=True, nogil=True)
def _compare(related, i, squared, place, thresholds, j):
    """Compare the other sample ``j`` with the nearest of sample ``i`` so far."""
    if squared < related.squared[i]:
        related.squared[i], related.nearest[i] = squared, place
        related.is_held[i] = False
    if squared == related.squared[i]:
        for ball in range(len(thresholds)):
            related.is_held[i, ball] |= squared <= thresholds[ball, j]


@njit(cache=True, nogil=True)
def relate_block(between, real, generated, of_real, of_generated, by_real, by_generated):
    """Count who is in whose ball and find who is nearest.

    Parameters
    ----------
    between
        (n, m) squared distances.
    real, generated
        Rows and columns of the table that are in the block.
    of_real, of_generated
        (n_balls, n_members) the largest squared distances inside each one's balls.
    by_real, by_generated
        Output.
    """
    reach_real, reach_generated = _widest(of_real, len(real)), _widest(of_generated, len(generated))
    limits = np.maximum(reach_generated, by_generated.squared)
    for i in range(len(real)):
        row, limit = between[real[i]], np.inf
        for j in range(len(generated)):
            squared = np.float64(row[generated[j]])
            if squared > limit and squared > limits[j]:
                continue
            for ball in range(len(of_real)):
                inside = squared <= of_real[ball, i]
                by_real.in_own[i, ball] += inside
                by_generated.in_others[j, ball] += inside
            for ball in range(len(of_generated)):
                inside = squared <= of_generated[ball, j]
                by_real.in_others[i, ball] += inside
                by_generated.in_own[j, ball] += inside
            _compare(by_real, i, squared, j, of_generated, j)
            _compare(by_generated, j, squared, i, of_real, i)
            limit = max(reach_real[i], by_real.squared[i])
            limits[j] = max(reach_generated[j], by_generated.squared[j])


@njit(cache=True, nogil=True, fastmath={"reassoc", "nnan", "nsz"})
def _miss(row, scale, missed):
    """∏ min(1, scale · d²) of one sample by all others; of each of those, multiplied on to."""
    product = 1.0
    for j in range(len(row)):
        product *= min(1.0, row[j] * scale[0])
    for j in range(len(row)):
        missed[j] *= min(1.0, row[j] * scale[1])
    return product


@njit(cache=True, nogil=True)
def miss_in_block(between, real, generated, scales, by_real, by_generated):
    """∏ min(1, d²/R²) over the other class, for several R.

    Parameters
    ----------
    scales
        (n_radii, 2) 1/R² of the other class's R, for real and for generated samples.
    by_real, by_generated
        Output, (n_radii, n_members).
    """
    row = np.empty(len(generated))
    by_generated[:] = 1.0
    for i in range(len(real)):
        whole = between[real[i]]
        for j in range(len(generated)):
            row[j] = whole[generated[j]]
        for s in range(len(scales)):
            by_real[s, i] = _miss(row, scales[s], by_generated[s])
