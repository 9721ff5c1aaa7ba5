"""Zips that lead out of their folder, lie about their sizes or are invalid."""

import stat
import zipfile

from zipping import CENTRAL, LOCAL, with_field

from hostile_models.parts import DAMAGED, Parts, kind


@kind()
def path_that_leads_out(parts, rng):
    path = rng.choice(["../../x", "/etc/x", "..\\x", "C:/x", "tiny/../../x", "./x", "tiny//x", "CON/x"])
    return parts.zip(more=[(path, b"x")])


@kind()
def folder_that_leads_out(parts, rng):
    folder = rng.choice(["..", "/", ".", "../..", "a/b", "", "\\"])
    return parts.zip(path=lambda name, file: f"{folder}/{file}")


@kind()
def link_or_device(parts, rng):
    entry = zipfile.ZipInfo(f"{parts.name}/card.json")
    entry.external_attr = (rng.choice([stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR]) | 0o777) << 16
    del parts.signed().files["card.json"]
    return parts.zip(signed=False, more=[(entry, b"/etc/passwd")])


@kind()
def file_twice(parts, rng):
    file = rng.choice([*parts.files])
    return parts.zip(more=[(f"{parts.name}/{file}", b"{}")])


@kind()
def file_too_few(parts, rng):
    del parts.signed().files[rng.choice([*parts.files])]
    return parts.zip(signed=False)


@kind()
def thousands_of_files(parts, rng):
    return parts.zip(more=[(f"{parts.name}/{number}", b"") for number in range(rng.randrange(1, 3_000))])


@kind()
def bomb(parts, rng):
    file = rng.choice(["parameters.safetensors", "tokenizer.json"])
    return parts.put(file, bytes(rng.choice((2**23, 2**25)))).zip(compression=zipfile.ZIP_DEFLATED)


@kind()
def unusual_compression(parts, rng):
    return parts.zip(compression=rng.choice([zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]))


@kind()
def locked_zip(parts, rng):
    return with_field(with_field(parts.zip(), LOCAL, 6, "<H", 1), CENTRAL, 8, "<H", 1)


@kind()
def size_that_is_a_lie(parts, rng):
    return with_field(parts.zip(), CENTRAL, 24, "<I", rng.choice((0, 1, 2**31, 2**32 - 2)))


@kind()
def no_model_at_all(parts, rng):
    files = dict.fromkeys(("metadata.json", "config.json", "model.weights.h5"), b"{}")
    keras = Parts("k", files).zip(signed=False, path=lambda name, file: file)
    others = [b"", b"MZ\x90", b"\x89HDF\r\n\x1a\n", b"PK\x05\x06" + bytes(18), rng.randbytes(500)]
    return rng.choice([*others, keras])


@kind()
def zip_cut_off(parts, rng):
    data = parts.zip()
    return data[: rng.randrange(len(data) - 1)]


@kind(DAMAGED)
def flipped_bytes(parts, rng):
    data = bytearray(parts.zip())
    for _ in range(rng.choice((1, 1, 5))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@kind(DAMAGED)
def something_before_or_after(parts, rng):
    rest = rng.randbytes(rng.randrange(1, 500))
    return rng.choice([parts.zip() + rest, rest + parts.zip()])
