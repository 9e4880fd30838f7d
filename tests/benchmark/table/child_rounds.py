"""A competitor that is a process of its own, kept for all rounds, which does steps when it is asked to."""

class ChildRounds:
    """Asks a child for `warm + measured` steps in each round and leaves the first `warm` out."""

    def __init__(self, child, warm, measured):
        self.child, self.warm, self.measured = child, warm, measured

    def round(self):
        answer = self.child.ask("steps", count=self.warm + self.measured)
        return answer["seconds"][self.warm :], answer["memory"]

    def close(self):
        self.child.close()

