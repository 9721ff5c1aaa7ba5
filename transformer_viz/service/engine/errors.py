"""Errors of the engine."""


class EngineError(RuntimeError):
    """The engine could not answer.

    Attributes:
        code: "slow" (took longer than `seconds`), "busy" (a cheap question, twice), "loading" (the model has
            been loading for `seconds`), "died" (the child ended twice during this question),
            "start" (the child does not start), "memory", "closed" (the app is ending), or "unexpected" (an
            error of type `kind` at `where`). Pages translate it.
        facts: The names above and their values.
    """

    def __init__(self, code: str, **facts: object):
        super().__init__(code)
        self.code, self.facts = code, facts

    def __str__(self):
        return ", ".join([self.code, *(f"{name} = {value}" for name, value in self.facts.items())])
