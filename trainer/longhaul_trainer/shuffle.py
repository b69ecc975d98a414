"""The order in which rows come, as activities/train.go has it: Go's rand.New(rand.NewPCG(seed, 1)).Shuffle."""

from collections.abc import MutableSequence

MASK = (1 << 64) - 1


class PCG:
    """PCG-DXSM with 128 bits of state, as in Go's math/rand/v2. M. O'Neill, PCG, 2014."""

    def __init__(self, high: int, low: int):
        self.state = high << 64 | low

    def uint64(self) -> int:
        multiplier = 2549297995355413924 << 64 | 4865540595714422341
        increment = 6364136223846793005 << 64 | 1442695040888963407
        self.state = (self.state * multiplier + increment) & ((1 << 128) - 1)
        high, low = self.state >> 64, self.state & MASK
        high ^= high >> 32
        high = high * 0xDA942042E4DD58B5 & MASK
        high ^= high >> 48
        return high * (low | 1) & MASK

    def below(self, n: int) -> int:
        """A number from 0 to n-1, all alike. D. Lemire, Fast Random Integer Generation in an Interval, 2019."""
        if n & (n - 1) == 0:
            return self.uint64() & (n - 1)
        product = self.uint64() * n
        while product & MASK < (1 << 64) % n:
            product = self.uint64() * n
        return product >> 64


def shuffle(items: MutableSequence, seed: int) -> None:
    """Puts items in the order of an update with this seed."""
    rng = PCG(seed, 1)
    for i in range(len(items) - 1, 0, -1):
        j = rng.below(i + 1)
        items[i], items[j] = items[j], items[i]
