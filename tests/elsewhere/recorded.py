"""The recorded models of the hub (record.py), and the texts that they were asked about."""

import ast
import json
from pathlib import Path

HERE = Path(__file__).parent
FOLDERS = sorted((HERE / "models").iterdir())


def texts():
    """Return the texts of record.py, which cannot be imported without torch."""
    tree = ast.parse((HERE / "record.py").read_text(encoding="utf-8"))
    [found] = [node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "TEXTS"]
    return ast.literal_eval(found.value)


TEXTS = texts()


def changed(folder, **values):
    """Change values of a folder's config.json, or leave out those that are ...; return the folder."""
    file = folder / "config.json"
    content = json.loads(file.read_text()) | values
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not ...}))
    return folder
