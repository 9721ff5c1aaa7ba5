"""Why the engine could not answer."""


class EngineError(RuntimeError):
    """The engine could not answer.

    Attributes:
        code: "slow" (took longer than `seconds`), "died" (the child ended while it worked on this, twice),
            "start" (the child does not start), "memory", "closed" (the app is ending), or "unexpected" (an
            error of type `kind` at `where`). A page has a sentence for each.
        facts: The names above and their values.
    """

    def __init__(self, code: str, **facts):
        super().__init__(code)
        self.code, self.facts = code, facts

    def __str__(self):
        return ", ".join([self.code, *(f"{name} = {value}" for name, value in self.facts.items())])
