"""Write the answers with which the app opens, and why, so that its first start of all shows both at once.

    python models/keep_opening.py

There is one for each language; they take the place of the former ones beside the models.
"""

import contextlib

from transformer_viz.questions.effects.request import EffectsRequest
from transformer_viz.service.engine import Engine
from transformer_viz.service.opening import name_of, shipped_path
from transformer_viz.ui.shell.server import opening_requests

if __name__ == "__main__":
    with contextlib.closing(Engine()) as engine:
        for request in opening_requests().values():
            why = EffectsRequest(request)
            for asked, answer in ((request, engine.answer(request)), (why, engine.effects(why))):
                path = shipped_path(asked)
                for former in path.parent.glob(f"{name_of(asked)}-*.npz"):
                    former.unlink()
                answer.save(path)
                print(f"Wrote {path}.")
