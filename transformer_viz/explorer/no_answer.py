"""Why a model that was made elsewhere gives no answer."""

from collections.abc import Mapping
from typing import Any

from transformer_viz.language import Phrase

OUTPUTS = {
    "ForQuestionAnswering": "questions",
    "ForTokenClassification": "tokens",
    "ForMultipleChoice": "choices",
}
"""Ending of the name of a class in `transformers` -> what its output layer gives."""

PROBLEMS = {"multi_label_classification": "labels", "regression": "scores"}
"""`problem_type` of a classifier -> what its output layer gives, if not one label."""


def described_output(kind: str, problem: object) -> dict[str, str]:
    """Return what the output layer of a model gives that is not read, for its card.

    Args:
        kind: Name of the class that it was saved as; "" if that is not said.
        problem: Its `problem_type`.
    """
    what = next((what for ending, what in OUTPUTS.items() if kind.endswith(ending)), None)
    if what is None:
        what = PROBLEMS.get(str(problem), "other") if "For" in kind else "none"
    return {"what": what, "kind": kind}


def why_no_answer(card: Mapping[str, Any]) -> Phrase:
    """Return why a model without labels gives no answer, and what to do instead.

    Args:
        card: Its card.
    """
    output = card.get("other_output", {})
    what = output.get("what", "none")
    facts = {} if what == "none" else {"kind": output["kind"]}
    return Phrase(f"unanswered.{what}", **facts)
