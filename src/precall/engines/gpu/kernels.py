"""The fused kernels: Q in registers, of which only what is near, open or counted leaves them.

One body computes a block of Q at any level; what follows only compares Q with limits.
"""

import triton
import triton.language as tl


@triton.jit
def _block(n_rows, n_columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """First row and first column of a program's block: neighbours share what is in the cache."""
    program = tl.program_id(0)
    n_down, n_across = tl.cdiv(n_rows, BLOCK_M), tl.cdiv(n_columns, BLOCK_N)
    in_group = GROUP * n_across
    first = (program // in_group) * GROUP
    height = tl.minimum(n_down - first, GROUP)
    i = first + (program % in_group) % height
    j = (program % in_group) // height
    return i * BLOCK_M, j * BLOCK_N


@triton.jit
def _block_of_q(
    a_ptr, b_ptr, a_norm, b_norm, row, column, n_rows, n_columns, width,
    LEVEL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    COPIED: tl.constexpr,
):  # fmt: skip
    """Q of a block of rows with a block of columns: float32 in float16, else float64.

    Where the device copies whole blocks by itself, sides come as descriptors instead of pointers.
    """
    rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
    if LEVEL == 2:  # squared differences, added one by one in the order of features
        a = a_ptr + tl.minimum(rows, n_rows - 1)
        b = b_ptr + tl.minimum(columns, n_columns - 1)
        q = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float64)
        for _ in range(width):
            difference = tl.load(a).to(tl.float64)[:, None] - tl.load(b).to(tl.float64)[None, :]
            q += difference * difference
            a += n_rows
            b += n_columns
    else:
        dtype = tl.float32 if LEVEL == 0 else tl.float64
        products = tl.zeros((BLOCK_M, BLOCK_N), dtype=dtype)
        if COPIED:
            for k in range(0, width, BLOCK_K):
                left, right = a_ptr.load([row, k]), b_ptr.load([column, k])
                products = tl.dot(left, right.T, products, out_dtype=dtype)
        else:
            k = tl.arange(0, BLOCK_K)
            a = a_ptr + (rows % n_rows).to(tl.int64)[:, None] * width + k[None, :]
            b = b_ptr + (columns % n_columns).to(tl.int64)[None, :] * width + k[:, None]
            for _ in range(0, width, BLOCK_K):
                products = tl.dot(tl.load(a), tl.load(b), products, out_dtype=dtype)
                a += BLOCK_K
                b += BLOCK_K
        of_rows = tl.load(a_norm + rows, mask=rows < n_rows, other=0.0)
        of_columns = tl.load(b_norm + columns, mask=columns < n_columns, other=0.0)
        q = of_rows[:, None] + of_columns[None, :] - 2 * products
    return q


@triton.jit
def _quarters(q, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Cut a block into four by columns: what follows needs fewer registers at a time."""
    left, right = tl.split(tl.permute(tl.reshape(q, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
    first, second = tl.split(tl.permute(tl.reshape(left, (BLOCK_M, 2, BLOCK_N // 4)), (0, 2, 1)))
    third, fourth = tl.split(tl.permute(tl.reshape(right, (BLOCK_M, 2, BLOCK_N // 4)), (0, 2, 1)))
    return first, second, third, fourth


@triton.jit
def _append(
    keep, q, members, owners, axis: tl.constexpr, n_found, keys, places, capacity,
    LEVEL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Append members to the lists of owners, as far as there is room."""
    zeros = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
    owner = tl.expand_dims(owners, 1 - axis)
    place = tl.atomic_add(n_found + (owner + zeros), 1, mask=keep, sem="relaxed")
    keep = keep & (place < capacity)
    member = tl.expand_dims(members, axis) + zeros
    start = owner.to(tl.int64) * capacity
    if LEVEL == 0:  # a distance that is not negative, and behind it the member
        bits = tl.maximum(q, 0.0).to(tl.int32, bitcast=True)
        key = (bits.to(tl.int64) << 32) | member.to(tl.int64)
        tl.store((keys + start) + place, key, mask=keep)
    else:
        tl.store((keys + start) + place, q, mask=keep)
        tl.store((places + start) + place, member, mask=keep)


@triton.jit
def _open_limits(limit_ptr, n_found, owners, n, capacity):
    """Limits of lists; nothing is near enough to one that is full already."""
    ok = owners < n
    limit = tl.load(limit_ptr + owners, mask=ok, other=float("-inf"))
    is_full = tl.load(n_found + owners, mask=ok, other=0) > capacity
    return tl.where(is_full, float("-inf"), limit)


@triton.jit(do_not_specialize=["n_rows", "n_columns", "first", "capacity"])
def near_kernel(
    a_ptr, b_ptr, a_norm, b_norm, row_limit, column_limit, n_found, keys, places,
    n_rows, n_columns, width, first, capacity,
    LEVEL: tl.constexpr, SYMMETRIC: tl.constexpr, EITHER: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    COPIED: tl.constexpr,
):  # fmt: skip
    """Append every column within a row's limit, or either's, to the row's list.

    Where rows and columns are the same, each pair is looked at once, for the lists of both.
    """
    row, column = _block(n_rows, n_columns, BLOCK_M, BLOCK_N, GROUP)
    if (not SYMMETRIC) or (column + BLOCK_N > row):
        rows = row + tl.arange(0, BLOCK_M)
        q = _block_of_q(
            a_ptr, b_ptr, a_norm, b_norm, row, column, n_rows, n_columns, width,
            LEVEL, BLOCK_M, BLOCK_N, BLOCK_K, COPIED,
        )  # fmt: skip
        of_rows = _open_limits(row_limit, n_found, rows, n_rows, capacity)
        part: tl.constexpr = BLOCK_N // 4
        quarters = _quarters(q, BLOCK_M, BLOCK_N)
        for i in tl.static_range(4):
            q = quarters[i]
            columns = column + i * part + tl.arange(0, part)
            keep = q <= of_rows[:, None]
            if EITHER:
                ok = columns < n_columns
                limit = tl.load(column_limit + columns, mask=ok, other=float("-inf"))
                keep = (keep | (q <= limit[None, :])) & (rows < n_rows)[:, None]
            if SYMMETRIC:
                keep = keep & (columns[None, :] >= rows[:, None])
            keep = keep & (columns < n_columns)[None, :]
            _append(
                keep, q, columns + first, rows, 0, n_found, keys, places, capacity,
                LEVEL, BLOCK_M, part,
            )  # fmt: skip
            if SYMMETRIC:
                limit = _open_limits(row_limit, n_found, columns, n_columns, capacity)
                keep = (q <= limit[None, :]) & (columns[None, :] > rows[:, None])
                keep = keep & (rows < n_rows)[:, None]
                _append(
                    keep, q, rows, columns, 1, n_found, keys, places, capacity,
                    LEVEL, BLOCK_M, part,
                )  # fmt: skip


@triton.jit(do_not_specialize=["n_rows", "n_columns"])
def dense_kernel(
    a_ptr, b_ptr, a_norm, b_norm, out_ptr, n_rows, n_columns, width,
    LEVEL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    COPIED: tl.constexpr,
):  # fmt: skip
    """Write Q of every pair."""
    row, column = _block(n_rows, n_columns, BLOCK_M, BLOCK_N, GROUP)
    rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
    q = _block_of_q(
        a_ptr, b_ptr, a_norm, b_norm, row, column, n_rows, n_columns, width,
        LEVEL, BLOCK_M, BLOCK_N, BLOCK_K, COPIED,
    )  # fmt: skip
    at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
    tl.store(out_ptr + at, q, mask=(rows < n_rows)[:, None] & (columns < n_columns)[None, :])


@triton.jit
def _list_pairs(
    keep, rows, columns, n_listed, listed_rows, listed_columns, capacity,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Append pairs to one list of all; when it is full they are only counted."""
    n_here = tl.sum(tl.sum(keep.to(tl.int32), axis=1), axis=0)
    if n_here > 0:
        if tl.load(n_listed) > capacity:
            tl.atomic_add(n_listed, n_here.to(tl.int64), sem="relaxed")
        else:
            zeros = tl.zeros((BLOCK_M, BLOCK_N), tl.int64)
            one = tl.full((BLOCK_M, BLOCK_N), 1, tl.int64)
            place = tl.atomic_add(n_listed + zeros, one, mask=keep, sem="relaxed")
            keep = keep & (place < capacity)
            tl.store(listed_rows + place, rows[:, None] + zeros.to(tl.int32), mask=keep)
            tl.store(listed_columns + place, columns[None, :] + zeros.to(tl.int32), mask=keep)


@triton.jit
def _open_pairs(
    q, rows, columns, row_inner, row_outer, column_inner, column_outer,
    n_rows, n_columns, n_own, n_others, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Whether each pair is between the limits of any ball."""
    row_ok, column_ok = rows < n_rows, columns < n_columns
    is_open = tl.zeros((BLOCK_M, BLOCK_N), tl.int1)
    for ball in range(n_own):
        at = ball * n_rows + rows
        inner = tl.load(row_inner + at, mask=row_ok, other=0.0)
        outer = tl.load(row_outer + at, mask=row_ok, other=0.0)
        is_open = is_open | ((q <= outer[:, None]) & (q > inner[:, None]))
    for ball in range(n_others):
        at = ball * n_columns + columns
        inner = tl.load(column_inner + at, mask=column_ok, other=0.0)
        outer = tl.load(column_outer + at, mask=column_ok, other=0.0)
        is_open = is_open | ((q <= outer[None, :]) & (q > inner[None, :]))
    return is_open & row_ok[:, None] & column_ok[None, :]


@triton.jit
def _add_counts(
    counted, ball, rows, columns, row_counts, column_counts, n_rows, n_columns, BOTH: tl.constexpr
):
    """Add what is in one ball to the counts of the rows, and of the columns if wanted."""
    own = tl.sum(counted, axis=1)
    at = row_counts + ball * n_rows + rows
    tl.atomic_add(at, own, mask=(rows < n_rows) & (own > 0), sem="relaxed")
    if BOTH:
        other = tl.sum(counted, axis=0)
        at = column_counts + ball * n_columns + columns
        tl.atomic_add(at, other, mask=(columns < n_columns) & (other > 0), sem="relaxed")


@triton.jit(do_not_specialize=["n_rows", "n_columns", "n_own", "n_others", "capacity"])
def tally_kernel(
    a_ptr, b_ptr, a_norm, b_norm, row_inner, row_outer, column_inner, column_outer,
    row_counts, column_counts, n_open, open_rows, open_columns,
    n_rows, n_columns, width, n_own, n_others, capacity,
    LEVEL: tl.constexpr, BOTH: tl.constexpr, SHARP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    COPIED: tl.constexpr,
):  # fmt: skip
    """Count the pairs that are certainly in each ball, and list those that are open in any."""
    row, column = _block(n_rows, n_columns, BLOCK_M, BLOCK_N, GROUP)
    rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
    q = _block_of_q(
        a_ptr, b_ptr, a_norm, b_norm, row, column, n_rows, n_columns, width,
        LEVEL, BLOCK_M, BLOCK_N, BLOCK_K, COPIED,
    )  # fmt: skip
    row_ok, column_ok = rows < n_rows, columns < n_columns
    decided = row_ok[:, None] & column_ok[None, :]
    if not SHARP:  # a pair that is open in any ball is left to be counted in all
        is_open = _open_pairs(
            q, rows, columns, row_inner, row_outer, column_inner, column_outer,
            n_rows, n_columns, n_own, n_others, BLOCK_M, BLOCK_N,
        )  # fmt: skip
        decided = decided & (is_open == 0)
        if tl.max(tl.max(is_open.to(tl.int32), axis=1), axis=0) > 0:
            part: tl.constexpr = BLOCK_N // 4
            quarters = _quarters(is_open.to(tl.int8), BLOCK_M, BLOCK_N)
            for i in tl.static_range(4):
                _list_pairs(
                    quarters[i] > 0, rows, column + i * part + tl.arange(0, part),
                    n_open, open_rows, open_columns, capacity, BLOCK_M, part,
                )  # fmt: skip
    for ball in range(n_own):
        at = ball * n_rows + rows
        inner = tl.load(row_inner + at, mask=row_ok, other=0.0)[:, None]
        counted = ((q <= inner) & decided).to(tl.int32)
        _add_counts(
            counted, ball, rows, columns, row_counts, column_counts, n_rows, n_columns, BOTH
        )
    for ball in range(n_others):
        at = ball * n_columns + columns
        inner = tl.load(column_inner + at, mask=column_ok, other=0.0)[None, :]
        counted = ((q <= inner) & decided).to(tl.int32)
        _add_counts(
            counted, n_own + ball, rows, columns, row_counts, column_counts, n_rows, n_columns,
            BOTH,
        )  # fmt: skip


@triton.jit(do_not_specialize=["n_rows", "n_columns"])
def ratio_kernel(
    a_ptr, b_ptr, a_norm, b_norm, weight_ptr, best_ptr, offset_ptr, error_ptr, lost_ptr,
    n_rows, n_columns, width,
    LEVEL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    COPIED: tl.constexpr,
):  # fmt: skip
    """Find, for each column, a ratio that the largest weight / (squared + offset) reaches.

    At the exact level that largest itself. Ratios are kept as the bits of floats, which are ordered
    as they are.
    """
    row, column = _block(n_rows, n_columns, BLOCK_M, BLOCK_N, GROUP)
    rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
    q = _block_of_q(
        a_ptr, b_ptr, a_norm, b_norm, row, column, n_rows, n_columns, width,
        LEVEL, BLOCK_M, BLOCK_N, BLOCK_K, COPIED,
    )  # fmt: skip
    row_ok, column_ok = rows < n_rows, columns < n_columns
    weight = tl.load(weight_ptr + rows, mask=row_ok, other=-1.0)[:, None]
    offset = tl.load(offset_ptr)
    if LEVEL == 2:
        squared = q + offset
        ratio = tl.where((weight == 0) & (squared == 0), 1.0, weight / squared)
    else:
        root = tl.sqrt(tl.maximum(q + tl.load(error_ptr), 0.0)) + tl.load(lost_ptr)
        squared = root * root + offset
        ratio = tl.where(squared > 0, weight / squared * (1 - 2.0**-16), 0.0)
    ratio = tl.where((weight < 0) | (column_ok == 0)[None, :], 0.0, ratio)
    best = tl.max(ratio, axis=0)
    bits = best.to(tl.int32 if LEVEL == 0 else tl.int64, bitcast=True)
    tl.atomic_max(best_ptr + columns, bits, mask=column_ok & (best > 0), sem="relaxed")


@triton.jit(do_not_specialize=["n_rows", "n_columns", "capacity"])
def ratio_pairs_kernel(
    a_ptr, b_ptr, a_norm, b_norm, weight_ptr, best_ptr, error_ptr, lost_ptr,
    n_listed, listed_rows, listed_columns, n_rows, n_columns, width, capacity,
    LEVEL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    COPIED: tl.constexpr,
):  # fmt: skip
    """List the pairs whose ratio may reach what their column is known to reach."""
    row, column = _block(n_rows, n_columns, BLOCK_M, BLOCK_N, GROUP)
    rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
    q = _block_of_q(
        a_ptr, b_ptr, a_norm, b_norm, row, column, n_rows, n_columns, width,
        LEVEL, BLOCK_M, BLOCK_N, BLOCK_K, COPIED,
    )  # fmt: skip
    row_ok, column_ok = rows < n_rows, columns < n_columns
    weight = tl.load(weight_ptr + rows, mask=row_ok, other=-1.0)[:, None]
    best = tl.load(best_ptr + columns, mask=column_ok, other=1.0)[None, :]
    root = tl.sqrt(tl.maximum(weight / best, 0.0)) + tl.load(lost_ptr)
    outer = root * root * (1 + 2.0**-16) + tl.load(error_ptr)
    keep = ((q <= outer) | (best <= 0)) & (weight >= 0) & row_ok[:, None] & column_ok[None, :]
    part: tl.constexpr = BLOCK_N // 4
    quarters = _quarters(keep.to(tl.int8), BLOCK_M, BLOCK_N)
    for i in tl.static_range(4):
        _list_pairs(
            quarters[i] > 0, rows, column + i * part + tl.arange(0, part),
            n_listed, listed_rows, listed_columns, capacity, BLOCK_M, part,
        )  # fmt: skip


@triton.jit
def _add_in_order(total, squares, BLOCK: tl.constexpr, AT_ONCE: tl.constexpr):
    """Add two or four columns one by one, in their order."""
    if AT_ONCE == 2:
        first, second = tl.split(squares)
        total = (total + first) + second
    else:
        even, odd = tl.split(tl.reshape(squares, (BLOCK, 2, 2)))
        first, third = tl.split(even)
        second, fourth = tl.split(odd)
        total = (((total + first) + second) + third) + fourth
    return total


@triton.jit(do_not_specialize=["n_pairs"])
def canonical_kernel(
    a_ptr, b_ptr, i_ptr, j_ptr, out_ptr, n_pairs, d, BLOCK: tl.constexpr, AT_ONCE: tl.constexpr
):
    """Squared differences of single pairs, added one by one in the order of features.

    A thread a pair, which reads several features at a time where rows are aligned.
    """
    pair = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = pair < n_pairs
    a = a_ptr + tl.load(i_ptr + pair, mask=ok, other=0) * d
    b = b_ptr + tl.load(j_ptr + pair, mask=ok, other=0) * d
    total = tl.zeros((BLOCK,), tl.float64)
    if AT_ONCE > 1:
        some = tl.arange(0, AT_ONCE)
        for k in range(0, d, AT_ONCE):
            left = tl.load(a[:, None] + (k + some)[None, :]).to(tl.float64)
            right = tl.load(b[:, None] + (k + some)[None, :]).to(tl.float64)
            difference = left - right
            total = _add_in_order(total, difference * difference, BLOCK, AT_ONCE)
    else:
        for k in range(d):
            difference = tl.load(a + k).to(tl.float64) - tl.load(b + k).to(tl.float64)
            total += difference * difference
    tl.store(out_ptr + pair, total, mask=ok)


@triton.jit
def halve_kernel(
    rows_ptr, center_ptr, q_ptr, norm_ptr, lost_ptr, length_ptr, d, width, per_step,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Round a row to float16 on the session's scale, and add up what is kept and lost of it."""
    row = tl.program_id(0).to(tl.int64)
    norm = tl.zeros((BLOCK,), tl.float64)
    lost = tl.zeros((BLOCK,), tl.float64)
    length = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, width, BLOCK):
        k = start + tl.arange(0, BLOCK)
        ok = k < d
        value = tl.load(rows_ptr + row * d + k, mask=ok, other=0.0).to(tl.float64)
        center = tl.load(center_ptr + k, mask=ok, other=0.0)
        offset = (value - center) * tl.load(per_step)
        clamped = tl.minimum(tl.maximum(offset, -32768.0), 32768.0)
        half = clamped.to(tl.float32).to(tl.float16)
        single = half.to(tl.float32)  # subnormal numbers are flushed by some matrix units
        half = tl.where(tl.abs(single) < 2.0**-14, 0.0, single).to(tl.float16)
        tl.store(q_ptr + row * width + k, half, mask=k < width)
        kept = half.to(tl.float64)
        norm += kept * kept
        lost += (offset - kept) * (offset - kept)
        length += offset * offset
    tl.store(norm_ptr + row, tl.sum(norm, axis=0))
    tl.store(lost_ptr + row, tl.sum(lost, axis=0))
    tl.store(length_ptr + row, tl.sum(length, axis=0))


def grid_of(n_rows: int, n_columns: int, shape: dict[str, int]) -> tuple[int]:
    """Return how many programs there are."""
    return (triton.cdiv(n_rows, shape["BLOCK_M"]) * triton.cdiv(n_columns, shape["BLOCK_N"]),)
