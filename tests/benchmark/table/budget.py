"""Limits the time of a measurement: a competitor that is not done when its share is over is absent, with the reason."""

import math
import time


class Budget:
    """Seconds that something may take from now on; without an argument there is no limit."""

    def __init__(self, seconds=math.inf):
        self.end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def part(self, share):
        """A share of what is left."""
        return Budget(share * self.left())


UNLIMITED = Budget()
