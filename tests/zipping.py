"""Zips made and changed field by field, and the manifest that models are packed with."""

import hashlib
import io
import json
import struct
import zipfile

LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
"""What the head of a file in a zip begins with, and its entry in the directory."""


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    """Return a zip of name -> content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def with_field(data, head, offset, form, value):
    """Return a zip with another value in the first head of this kind."""
    changed = bytearray(data)
    struct.pack_into(form, changed, changed.index(head) + offset, value)
    return bytes(changed)


def signed(files):
    """Return the manifest that is right for name -> content, whether an old one is among them or not."""
    entries = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
        if name != "manifest.json"
    }
    content = {"format_version": 1, "files": entries}
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()
