"""Small, real things to test with: sizes are distinct primes where they can be, seeds are fixed."""

import contextlib
import json
import os
import sys
from collections import defaultdict
from itertools import chain
from urllib.parse import urljoin

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import hypothesis
import pytest
from running_app import CHROMIUM, ROOT, running
from small_models import REVIEWS, with_random_parameters, write

from transformer_viz.network.config import TransformerConfig

hypothesis.settings.load_profile("ci")  # the same examples each time, however slow the machine

PATIENCE = 120_000
"""Milliseconds after which what a browser waits for is taken to never come: two runs share two processors."""


def pytest_xdist_auto_num_workers(config):
    """Return 2 processes to run the tests in, which fit into 16 GB; none of their own for single files."""
    return 0 if all(".py" in argument for argument in config.args) else 2


@pytest.hookimpl(tryfirst=True)  # before those that take long are left out
def pytest_collection_modifyitems(config, items):
    """Leave what `quick` does not name to the long run; each name must be one.

    Begin with the longest files, so that at the end no process is left alone with one of them.
    """
    marked = [(item, quick.args) for item in items if (quick := item.get_closest_marker("quick"))]
    known = {(item.function, item.callspec.id) for item, _ in marked}
    for item, names in marked:
        unknown = [name for name in names if (item.function, name) not in known]
        if unknown and not any("::" in argument for argument in config.args):
            raise pytest.UsageError(f"`quick` of {item.nodeid} names no set of parameters: {unknown}")
        if item.callspec.id not in names:
            item.add_marker("thorough")
    items.sort(key=lambda item: ("browser" not in item.fixturenames, "training" not in item.path.parts))


@pytest.fixture(scope="module", autouse=True)
def own_main_module():
    """Undo what a page leaves behind: children of this process run the script that is its `__main__`."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(autouse=True)
def same_initial_values():
    """Begin each test with the same seed, so that a model made in it has the same values each time."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(7)


@pytest.fixture(scope="module")
def browser():
    """Return a Chromium of the system, without a window."""
    if not CHROMIUM and not os.environ.get("CI"):
        pytest.skip("no Chromium here: install it, or set CHROMIUM to its path")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--process-per-site"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def contexts(browser):
    """Return the contexts of the browser that no test is using, by their options.

    The next visitor finds the app's files in one, fetched and compiled, which is most of opening a page. One
    page of the app's address stays open there, so that its process lives on with them.
    """
    free = defaultdict(list)
    yield free
    for each in chain.from_iterable(free.values()):
        each.close()


@pytest.fixture
def new_visitor(browser, contexts):
    """Return a function that opens an empty page for a visitor without cookies or anything else kept.

    Its options are those of the browser's context; no script may fail on any of these pages.
    """
    from playwright.sync_api import Error

    wrong, taken = [], []

    def open_empty_page(**options):
        kind = json.dumps(options, sort_keys=True)
        context = contexts[kind].pop() if contexts[kind] else browser.new_context(**options)
        taken.append((kind, context))
        context.set_storage_state({"cookies": [], "origins": []})
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.set_default_timeout(PATIENCE)
        return page

    yield open_empty_page
    for kind, context in taken:
        for page in context.pages[1:]:
            page.close()
        for page in context.pages:
            with contextlib.suppress(Error):  # an app of the test's own is gone
                page.goto(urljoin(page.url, "/_stcore/health"))
        contexts[kind].append(context)
    assert wrong == []


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory):
    """A folder of training runs of the tests' own, also for the processes they start, and no cache."""
    os.environ["TRANSFORMER_VIZ_RUNS"] = str(tmp_path_factory.mktemp("runs"))
    os.environ["TRANSFORMER_VIZ_CACHE"] = f"{os.devnull}/none"  # no answer is kept for another test


@pytest.fixture(scope="session")
def reviews():
    return REVIEWS


@pytest.fixture(scope="session")
def small_config():
    """A pre-norm, two-block encoder whose every size is another prime."""
    return TransformerConfig(
        vocab_size=43,
        max_len=23,
        d_model=14,
        num_layers=2,
        num_heads=3,
        head_dim=5,
        value_dim=7,
        ffn_dim=11,
        norm="pre",
        final_norm=True,
        positions="learned",
        labels=("bad", "fair", "good"),
        dropout=0.0,
    )


@pytest.fixture(scope="session")
def small_model(small_config):
    return with_random_parameters(small_config)


@pytest.fixture(scope="session")
def explorer(small_config, small_model, reviews):
    """The small model with a tokenizer that knows the words of `REVIEWS`."""
    from transformer_viz.explorer.explorer import Explorer
    from transformer_viz.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.train(reviews, small_config.vocab_size)
    assert tokenizer.vocab_size == small_config.vocab_size
    return Explorer(small_model, tokenizer, name="small")


@pytest.fixture(scope="session")
def translator(reviews):
    """A post-norm encoder-decoder with 2 + 3 blocks, every size another prime."""
    from transformer_viz.explorer.explorer import Explorer
    from transformer_viz.text.tokenizer import Tokenizer

    source = Tokenizer.train(reviews, 43)
    target = Tokenizer.train(["one two three four five six", "seven eight nine"], 13, markers=True)
    config = TransformerConfig(
        architecture="encoder-decoder",
        vocab_size=43,
        target_vocab_size=13,
        max_len=23,
        target_max_len=17,
        d_model=14,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=3,
        head_dim=5,
        value_dim=7,
        ffn_dim=11,
        dropout=0.0,
    )
    return Explorer(with_random_parameters(config), source, target_tokenizer=target, name="translator")


@pytest.fixture(scope="session")
def writer(reviews):
    """A pre-norm decoder of two blocks with tied embeddings."""
    from transformer_viz.explorer.explorer import Explorer
    from transformer_viz.text.tokenizer import Tokenizer

    config = TransformerConfig(
        architecture="decoder",
        vocab_size=43,
        max_len=23,
        d_model=14,
        num_layers=2,
        num_heads=3,
        head_dim=5,
        value_dim=7,
        ffn_dim=11,
        norm="pre",
        final_norm=True,
        positions="learned",
        tie_embeddings=True,
        dropout=0.0,
    )
    tokenizer = Tokenizer.train(reviews, 43, markers=True)
    return Explorer(with_random_parameters(config), tokenizer, name="writer")


@pytest.fixture(scope="session")
def models_folder(explorer, tmp_path_factory):
    """A folder of models with the small one in it, in use by everything in this process and its children."""
    folder = tmp_path_factory.mktemp("models")
    write(explorer, folder)
    before = os.environ.get("TRANSFORMER_VIZ_MODELS")
    os.environ["TRANSFORMER_VIZ_MODELS"] = str(folder)
    yield folder
    if before is None:
        del os.environ["TRANSFORMER_VIZ_MODELS"]
    else:
        os.environ["TRANSFORMER_VIZ_MODELS"] = before


@pytest.fixture(scope="session")
def engine(models_folder):
    """The engine of the server, which the pages ask too; both its children have begun in `models_folder`."""
    from transformer_viz.trace.request import EFFECTS, TRACE, Request
    from transformer_viz.ui.shell.server import shared_engine

    engine = shared_engine()
    for wants in (TRACE, EFFECTS):  # the quick child, and the slow one
        engine.answer(Request("small", "A lovely film.", wants=wants))
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def app(models_folder):
    """The process of the app over `models_folder`, and its address."""
    with running() as app:
        yield app


@pytest.fixture(scope="session")
def home():
    """The address of the app with all shipped models."""
    with running(TRANSFORMER_VIZ_MODELS=ROOT / "models") as (_, address):
        yield address
