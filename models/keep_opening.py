"""Write the answers with which the app opens, and why, so that its first start of all shows both at once.

    python models/keep_opening.py

There is one for each language; they take the place of the former ones beside the models.
"""

from transformer_viz.inspection.explorer import load
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.service.opening import name_of, shipped_path
from transformer_viz.ui.shell.server import opening_requests

for request in opening_requests().values():
    explorer = load(request.model)
    for asked, answer in (
        (request, explorer.run(request)),
        (EffectsRequest(request), effects(explorer, request.text)),
    ):
        path = shipped_path(asked)
        for former in path.parent.glob(f"{name_of(asked)}-*.npz"):
            former.unlink()
        answer.save(path)
        print(f"Wrote {path}.")
