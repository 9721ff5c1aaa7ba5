"""Write the answer with which the app opens, so that its first start of all shows a picture at once.

    python models/keep_opening.py

It takes the place of the former one beside the models.
"""

from transformer_viz.inspection.explorer import load
from transformer_viz.service.opening import PATTERN, shipped_path
from transformer_viz.ui.shell.server import opening_request

request = opening_request()
if request is None:
    raise SystemExit("There is no model with an example to open with.")
path = shipped_path(request)
for former in path.parent.glob(PATTERN):
    former.unlink()
load(request.model).run(request).save(path)
print(f"Wrote {path}.")
