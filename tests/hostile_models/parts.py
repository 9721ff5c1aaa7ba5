"""A packed model taken apart, and the tables in which kinds of hostile ones are entered."""

import io
import json
import warnings
import zipfile

from zipping import signed

KINDS = {}
"""Name -> function of `Parts` and `random.Random` that returns a zip nobody may admit."""

DAMAGED = {}
"""Like `KINDS`, for zips that may be admitted where the damage does no harm."""

COSTLY = {}
"""Like `KINDS`, for zips of models that are refused only when they are run."""


class Parts:
    """The files of a packed model, to be changed and packed again as if nothing were wrong with them."""

    def __init__(self, name, files):
        self.name, self.files = name, files

    @classmethod
    def of(cls, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {path.partition("/")[2]: archive.read(path) for path in archive.namelist()}
            return cls(archive.namelist()[0].partition("/")[0], files)

    def put(self, file, data):
        self.files[file] = data if isinstance(data, bytes) else json.dumps(data).encode()
        return self

    def change(self, file, **fields):
        return self.put(file, json.loads(self.files[file]) | fields)

    def change_config(self, **fields):
        return self.change("config.json", **fields)

    def change_tokenizer(self, **fields):
        return self.change("tokenizer.json", **fields)

    def signed(self):
        """Make the manifest right for the files as they are."""
        self.files["manifest.json"] = signed(self.files)
        return self

    def zip(self, *, signed=True, more=(), path=lambda name, file: f"{name}/{file}", **options):
        files = (self.signed() if signed else self).files
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", **options) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a name twice
            for file, data in files.items():
                entry = zipfile.ZipInfo(path(self.name, file))  # of 1980: the same bytes at any time
                entry.compress_type = archive.compression
                archive.writestr(entry, data)
            for entry, data in more:
                archive.writestr(zipfile.ZipInfo(entry) if isinstance(entry, str) else entry, data)
        return out.getvalue()


def kind(table=KINDS):
    """Enter a function into a table under its own name."""

    def enter(function):
        table[function.__name__.replace("_", " ")] = function
        return function

    return enter
