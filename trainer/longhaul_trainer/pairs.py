"""Preference pairs of a batch, as activities/pairs.go makes them."""

from collections import Counter

from .batch import Row
from .failure import Failure

ROUNDING = 1e-6  # how far means of equal advantages, which are float32, may lie apart, relative to their size where that is above 1


def pairs_of(rows: list[Row]) -> list[tuple[Row, Row]]:
    """In each group the best member with the worst, the second best with the second worst and so on, as long as they differ by
    more than rounding. Members of more than one row have no one answer that could be preferred, and are left out. Failure:
    invalid when an answer has no trained token."""
    count = Counter(key(row) for row in rows)
    groups: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        if count[key(row)] == 1:
            mean = sum(row.advantages.tolist()) / max(1, len(row.advantages))
            groups.setdefault(row.episode["task"], []).append((mean, row))
    pairs = []
    for group in groups.values():
        group.sort(key=lambda member: -member[0])
        i, j = 0, len(group) - 1
        while i < j and better(group[i][0], group[j][0]):
            pairs.append((group[i][1], group[j][1]))
            if any(len(row.at) == 0 for row in pairs[-1]):
                raise Failure("invalid", f"pair {len(pairs) - 1}", "an answer has no trained token")
            i, j = i + 1, j - 1
    return pairs


def key(row: Row) -> tuple:
    return tuple(row.episode[name] for name in ("run", "update", "task", "member"))


def better(one: float, other: float) -> bool:
    return one - other > ROUNDING * max(1, abs(one), abs(other))
