"""What can go wrong, by kind: the kinds are those of rl/errors.go."""

DONE, PERMANENT, RETRY, PREEMPTED = 0, 42, 75, 143


class Failure(Exception):
    """A failure at a named boundary. Kinds: invalid, not_found and corrupt follow from the spec and what it names, so that the
    same spec fails again; unavailable, refused (credentials, rights) and conflict (another has the claim) do not."""

    def __init__(self, kind: str, at: str, message: str):
        super().__init__(f"{at}: {message}")
        self.kind, self.at, self.message = kind, at, message

    @property
    def exit(self) -> int:
        return PERMANENT if self.kind in ("invalid", "not_found", "corrupt") else RETRY


def missing(e: ImportError) -> Failure:
    """Something that the trainer is made of is not there, or does not load; it will not be the next time either."""
    return Failure("invalid", "trainer", f"{type(e).__name__}: {e}")
