import io
import random
import shutil
import stat
import struct
import zipfile

import pytest
from model_folders import (
    CARD,
    CONFIG,
    FILES,
    NAME_RULE,
    TOKENIZER,
    leftovers,
    parameters,
    refused,
    refused_with,
    sign,
    version_of,
    write,
    write_version,
)
from zipping import zipped

from transformer_viz import store
from transformer_viz.store import ModelError, list_models, pack_model, read_model, unpack_model
from transformer_viz.store.format import LARGEST
from transformer_viz.store.pack import unpack_into

CHOOSE = "Choose a zip that this program packed from one model."
DAMAGED = "The zip is cut off or damaged. Download or copy it again."
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
ONE_FOLDER = "The zip must hold one folder with exactly the files of a model. "


@pytest.fixture
def packed(model):
    return pack_model("tiny", model.parent)


@pytest.fixture
def home(tmp_path):
    """Where zips are unpacked to; nothing beside it may ever change."""
    (tmp_path / "home" / "models").mkdir(parents=True)
    return tmp_path / "home" / "models"


def names(data):
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def rezipped(packed, change=lambda entry, data: (entry, data), extra=()):
    """Return the zip with its entries changed, and more of them."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            changed = change(entry, old.read(entry))
            if changed:
                new.writestr(*changed)
        for entry, data in extra:
            new.writestr(entry, data)
    return out.getvalue()


def nothing_was_written(home):
    return list(home.iterdir()) == [] and list(home.parent.iterdir()) == [home]


def test_what_is_packed_here_is_unpacked_there_bit_for_bit(model, packed, home):
    assert unpack_model(packed, folder=home) == "tiny"
    for file in FILES:
        assert (home / "tiny" / file).read_bytes() == (model / file).read_bytes()
    assert pack_model("tiny", home) == packed
    assert leftovers(home) == []


def test_a_zip_holds_exactly_the_files_and_the_same_bytes_always(model, packed):
    assert names(packed) == [f"tiny/{file}" for file in FILES]
    (model / ".DS_Store").write_text("")
    for file in model.iterdir():
        file.touch()
    assert pack_model("tiny", model.parent) == packed


def test_a_file_and_bytes_are_unpacked_alike(packed, home, tmp_path):
    file = tmp_path / "anything.bin"
    file.write_bytes(packed)
    assert unpack_model(file, folder=home) == unpack_model(packed, folder=home / "other") == "tiny"
    with refused_with(f"{tmp_path / 'none.zip'} cannot be read: No such file or directory."):
        unpack_model(tmp_path / "none.zip", folder=home)


def test_a_model_may_be_given_another_name(packed, home, tmp_path):
    assert unpack_model(packed, name="guest", folder=home) == "guest"
    with refused_with(NAME_RULE):
        unpack_model(packed, name="../guest", folder=home)
    odd = rezipped(packed, lambda entry, data: (entry.filename.replace("tiny", "My Model"), data))
    (tmp_path / "odd.zip").write_bytes(odd)
    (tmp_path / "odd").mkdir()
    assert unpack_into(tmp_path / "odd.zip", tmp_path / "odd") == "My Model"
    with refused_with(NAME_RULE):
        unpack_model(odd, folder=home)
    assert unpack_model(odd, name="mine", folder=home) == "mine"
    assert [model.name for model in list_models(home)] == ["guest", "mine"]


def test_a_name_that_is_taken_is_refused_unless_told(packed, home):
    write_version(home, 2)
    with refused_with(f"{home / 'tiny'} exists already."):
        unpack_model(packed, folder=home)
    assert version_of(read_model("tiny", home)) == 2
    unpack_model(packed, folder=home, overwrite=True)
    assert read_model("tiny", home).card == CARD


def test_a_damaged_model_is_not_packed(model):
    (model / "card.json").write_text("{}")
    with refused_with("card.json is cut off or changed"):
        pack_model("tiny", model.parent)
    with refused_with("There is no model"):
        pack_model("gone", model.parent)
    with refused_with(NAME_RULE):
        pack_model("../tiny", model.parent)


def test_what_another_program_zipped_is_unpacked_too(packed, home):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        new.mkdir("tiny")
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    assert unpack_model(out.getvalue(), folder=home) == "tiny"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", f"This is not a zip. {CHOOSE}"),
        (b"MZ\x90 a program", f"This is not a zip. {CHOOSE}"),
        (b"\x89HDF\r\n\x1a\n", "This is an HDF5 file, as Keras writes it, not a packed model. It is never"),
        (b"\x80\x04]\x94.", "This is a pickle, as PyTorch writes it, not a packed model. It is never opened"),
        (b"PK\x03\x04 cut off", DAMAGED),
        (b"PK\x05\x06" + bytes(18), f"{ONE_FOLDER}Missing: "),
    ],
)
def test_what_is_no_zip_is_said_to_be_none(home, data, sentence):
    with refused_with(sentence):
        unpack_model(data, folder=home)
    assert nothing_was_written(home)


def test_a_file_of_keras_is_named(home):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file in ("metadata.json", "config.json", "model.weights.h5"):
            archive.writestr(file, b"{}")
    with refused_with("This is a model saved by Keras, not a packed one. The app never opens it"):
        unpack_model(out.getvalue(), folder=home)


def test_a_file_of_pytorch_is_named(home):
    with refused_with("This is a pickle, as PyTorch writes it, not a packed model."):
        unpack_model(zipped({"archive/data.pkl": b"", "archive/data/0": b""}), folder=home)


def renamed(old, new):
    return lambda entry, data: (entry.filename.replace(old, new), data)


STRANGE = {
    "absolute": renamed("tiny/card", "/tiny/card"),
    "all absolute": renamed("tiny/", "/tiny/"),
    "above": renamed("tiny/card", "tiny/../../card"),
    "above all": renamed("tiny/", "../"),
    "backslash": renamed("tiny/card", "tiny\\card"),
    "no folder": renamed("tiny/", ""),
    "deeper": renamed("tiny/", "models/tiny/"),
    "two folders": renamed("tiny/card", "other/card"),
    "missing": lambda entry, data: None if "card" in entry.filename else (entry, data),
    "capital": renamed("card.json", "CARD.json"),
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
def test_nothing_but_one_folder_of_a_models_files_is_unpacked(packed, home, change):
    with refused_with(ONE_FOLDER, CHOOSE):
        unpack_model(rezipped(packed, change), name="guest", folder=home)
    assert nothing_was_written(home)


@pytest.mark.parametrize(
    "more",
    ["tiny/run.py", "run.py", "__MACOSX/tiny/._card.json", "other/", "../../etc/x", "tiny/a/card.json"],
)
def test_nothing_may_lie_beside_a_models_files(packed, home, more):
    with refused(f"{ONE_FOLDER}Missing: none; unknown: {more!r}. {CHOOSE}"):
        unpack_model(rezipped(packed, extra=[(more, b"")]), folder=home)
    assert nothing_was_written(home)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_may_not_stand_there_twice(packed, home):
    with refused(f"The zip holds a file twice. {CHOOSE}"):
        unpack_model(rezipped(packed, extra=[("tiny/card.json", b"{}")]), folder=home)


def with_field(packed, *fields):
    """Return the zip with fields of its first file overwritten: header, offset, format and value of each."""
    data = bytearray(packed)
    for header, offset, form, value in fields:
        struct.pack_into(form, data, data.index(header) + offset, value)
    return bytes(data)


def test_an_encrypted_zip_is_refused(packed, home):
    with refused("tiny/card.json is encrypted. Pack the model without a password."):
        unpack_model(with_field(packed, (LOCAL, 6, "<H", 1), (CENTRAL, 8, "<H", 1)), folder=home)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_link_or_a_device_is_refused(packed, home, kind):
    def change(entry, data):
        entry.external_attr = (kind | 0o777) << 16
        return entry, b"/etc/passwd"

    with refused(f"tiny/card.json is a link or a device in the zip, not a plain file. {CHOOSE}"):
        unpack_model(rezipped(packed, change), folder=home)
    assert nothing_was_written(home)


def test_an_unusual_compression_is_refused(packed, home):
    def change(entry, data):
        entry.compress_type = zipfile.ZIP_LZMA
        return entry, data

    with refused("tiny/card.json is compressed in an unusual way. Pack it as a plain zip."):
        unpack_model(rezipped(packed, change), folder=home)


def test_a_file_that_is_declared_too_large_is_refused(packed, home):
    size = LARGEST["card.json"] + 1
    with refused(
        f"tiny/card.json has {size:,} bytes, more than the {LARGEST['card.json']:,} that are read. "
        "Choose a smaller model."
    ):
        unpack_model(with_field(packed, (CENTRAL, 24, "<I", size)), folder=home)
    assert nothing_was_written(home)


def test_a_bomb_is_refused_before_anything_is_unpacked(packed, home):
    def change(entry, data):
        bomb = "parameters" in entry.filename
        entry.compress_type = zipfile.ZIP_DEFLATED
        return entry, bytes(2**23) if bomb else data

    with refused_with("The zip unpacks to", "more than 100 times its size, as no model does."):
        unpack_model(rezipped(packed, change), folder=home)
    assert nothing_was_written(home)


def test_a_bomb_that_lies_about_its_size_is_stopped_while_it_unpacks(packed, home, monkeypatch):
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return bytes(2**20)

    monkeypatch.setattr(zipfile.ZipFile, "open", lambda archive, entry: Endless())
    with refused_with("card.json has 2,097,152 bytes, more than the 1,048,576 that are read."):
        unpack_model(packed, folder=home)
    assert nothing_was_written(home)


def test_a_zip_of_very_many_files_is_not_even_listed(packed, home):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(1001):
            archive.writestr(str(number), b"")
    with refused(f"The zip holds too many files for one model. {CHOOSE}"):
        unpack_model(out.getvalue(), folder=home)


def test_a_folder_that_is_refused_when_read_is_refused_here_with_the_same_words(model, home):
    def packed_with(file, data):
        with zipfile.ZipFile(io.BytesIO(pack_model("tiny", model.parent))) as whole:
            texts = {entry.filename: whole.read(entry) for entry in whole.infolist()}
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for path, text in (texts | {f"tiny/{file}": data}).items():
                archive.writestr(path, text)
        return out.getvalue()

    for file in FILES:
        with refused_with("tiny/"):
            unpack_model(packed_with(file, b"{}"), folder=home)
    with refused_with("tiny/config.json is damaged: its sha256 is not the one in manifest.json."):
        text = CONFIG.to_json().replace('"dropout": 0.1', '"dropout": 0.2')
        unpack_model(packed_with("config.json", text), folder=home)
    assert nothing_was_written(home)


def test_a_signed_model_that_does_not_fit_itself_is_refused(model, home):
    (model / "tokenizer.json").write_text(TOKENIZER.replace('"word10": 10', '"word10": 11'))
    sign(model)
    with refused_with("tiny/tokenizer.json must number its tokens from 0 to 10"):
        unpack_model(pack_model("tiny", model.parent), folder=home)
    assert nothing_was_written(home)


def test_a_zip_cut_off_anywhere_is_refused(packed, home):
    for end in range(0, len(packed), 97):
        with pytest.raises(ModelError):
            unpack_model(packed[:end], folder=home)
    assert nothing_was_written(home)


def test_a_changed_byte_is_refused_or_harmless(model, packed, home):
    rng, refusals = random.Random(17), 0
    for _ in range(300):
        data = bytearray(packed)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            name = unpack_model(bytes(data), folder=home)
        except ModelError:
            refusals += 1
        else:
            for file in FILES:
                assert (home / name / file).read_bytes() == (model / file).read_bytes()
            store.delete_model(name, home)
            store.empty_trash(home, older_than=0)
    assert refusals > 200
    assert nothing_was_written(home)


def test_a_disk_that_is_full_is_said_before_anything_is_written(packed, home, monkeypatch):
    usage = shutil.disk_usage(home)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with refused_with(f"{home / 'tiny'} needs", "Make space, or choose another folder."):
        unpack_model(packed, folder=home)
    assert nothing_was_written(home)


def test_an_encoder_decoder_goes_round_too(tmp_path, home):
    config = CONFIG.replace(architecture="encoder-decoder", labels=None, target_vocab_size=11)
    write(
        tmp_path / "there",
        config=config,
        parameters=parameters(config=config),
        target_tokenizer=TOKENIZER,
    )
    assert unpack_model(pack_model("tiny", tmp_path / "there"), folder=home) == "tiny"
    assert read_model("tiny", home).target_tokenizer == TOKENIZER
