"""Write the answer with which the app opens, and why, so that its first start of all shows both at once.

    python models/keep_opening.py

They take the place of the former ones beside the models.
"""

from transformer_viz.inspection.explorer import load
from transformer_viz.questions.effects.measure import effects
from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.service.opening import NAMES, shipped_path
from transformer_viz.ui.shell.server import opening_request

request = opening_request()
if request is None:
    raise SystemExit("There is no model with an example to open with.")
explorer = load(request.model)
for asked, answer in (
    (request, explorer.run(request)),
    (EffectsRequest(request), effects(explorer, request.text)),
):
    path = shipped_path(asked)
    for former in path.parent.glob(f"{NAMES[type(asked)]}-*.npz"):
        former.unlink()
    answer.save(path)
    print(f"Wrote {path}.")
