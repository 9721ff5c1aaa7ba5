"""The canvas views compared with BertViz 1.4.1: the same attention in one headless Chromium, alternating.

`python benchmarks/beside_bertviz.py [--all]`. Timing starts when the data (our payload, BertViz's script with
the weights) is in the page's memory and all libraries are loaded; it ends two animation frames after the view
is rendered. A hover is timed from the event to the second frame after it; two idle frames are printed last.
Each measurement uses a new page; medians are reported.

BertViz draws each weight as a line; our views draw those of at least 0.02, at most 8,000, as after opening
the page. All heads at once are images of their matrices here and lines in BertViz. BertViz's head view of 512
tokens takes minutes and needs `--all`. Without a GPU, Chromium renders in software.
"""

import argparse
import contextlib
import statistics

import bertviz_pages
from views import (
    ACT,
    FRAMES,
    HEADS,
    HOVER,
    LAYERS,
    MOUNT,
    VIEWPORT,
    mounting_page,
    names_of_tokens,
    random_attention,
    served_browser,
    write_page,
    write_payload,
)

TIMES = 3
HOVERS = 10

MOUNT_BERTVIZ = f"""async (file) => {{
    const [markup, code] = await (await fetch(file)).json();
    document.body.innerHTML = markup;
    const script = document.createElement('script');
    script.textContent = code;
    await {FRAMES};
    const start = performance.now();
    document.body.append(script);
    await new Promise(done => requirejs(['jquery', 'd3'], done)); // callbacks run in order of request
    await {FRAMES};
    const taken = performance.now() - start;
    return [taken, document.querySelectorAll('*').length, document.querySelectorAll('svg line').length];
}}"""

HOVER_BERTVIZ = """{
    const tokens = [...document.querySelectorAll('#left .background')].slice(0, 40);
    const token = tokens[Math.floor(Math.random() * tokens.length)];
    token.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
}"""


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--all", action="store_true", help="BertViz's head view of 512 tokens, too")
    patient = parser.parse_args().all
    package = bertviz_pages.fetch()
    print(f"{'':<39}{'ours':>12}{'BertViz':>12}{'BertViz / ours':>17}")
    with served_browser() as (folder, address, browser):
        write_page(folder)
        bertviz_pages.write_page(folder / "bertviz.html", package)
        bench = Bench(folder, address, browser)
        for length in (50, 128, 512):
            bench.write(random_attention(1, length), package.head_view)
            bench.compare(f"{HEADS} heads, {length} tokens", "lines", both=patient or length < 512)
        for length in (50, 100):
            bench.write(random_attention(LAYERS, length), package.model_view)
            bench.compare(f"{LAYERS * HEADS} heads, {length} tokens", "grid")
        with contextlib.closing(mounting_page(browser, address)) as page:
            still = statistics.median(page.evaluate(ACT, "") for _ in range(HOVERS))
    print(f"two frames in which nothing changes: {still:.0f} ms")


class Bench:
    """Measurements of both libraries with the same attention in a browser."""

    def __init__(self, folder, address, browser):
        self.folder, self.address, self.browser = folder, address, browser
        self.weights = 0

    def write(self, weights, view):
        """Write the input of both; `view` is BertViz's function."""
        self.weights = weights.size
        write_payload(self.folder / "ours.bin", weights)
        bertviz_pages.write(self.folder / "bertviz.json", view, weights, names_of_tokens(weights.shape[-1]))

    def compare(self, name, view, both=True):
        """Print a row per figure of a view; `both`: also measure BertViz."""
        ours, theirs = [], []
        for _ in range(TIMES):
            ours.append(self.measure(view))
            if both:
                theirs.append(self.measure_bertviz(view))
        for figure in ours[0]:
            medians = [statistics.median(found[figure] for found in side) for side in (ours, theirs) if side]
            print_row(f"{name}: {figure}", medians)

    def measure(self, view):
        """Return the figures of a view."""
        with contextlib.closing(mounting_page(self.browser, self.address)) as page:
            return figures(page, view, *page.evaluate(MOUNT, ["ours.bin", view]), HOVER)

    def measure_bertviz(self, view):
        """Return the figures of BertViz's view, after checking that it is complete."""
        with contextlib.closing(bertviz_pages.open_page(self.browser, self.address, VIEWPORT)) as page:
            taken, nodes, lines = page.evaluate(MOUNT_BERTVIZ, "bertviz.json")
            if lines != self.weights:
                raise RuntimeError(f"BertViz has drawn {lines} of {self.weights} lines.")
            return figures(page, view, taken, nodes, HOVER_BERTVIZ)


def figures(page, view, taken, nodes, hover):
    """Return name -> figure; for lines, including a hover."""
    found = {"painted, ms": taken, "nodes": nodes}
    if view == "lines":
        found["hover, ms"] = statistics.median(page.evaluate(ACT, hover) for _ in range(HOVERS))
    return found


def print_row(name, medians):
    """Print our median, and BertViz's with the ratio, if measured."""
    columns = f"{name:<39}{medians[0]:>12,.0f}"
    if len(medians) > 1:
        columns += f"{medians[1]:>12,.0f}{medians[1] / medians[0]:>17,.1f}"
    print(columns, flush=True)


if __name__ == "__main__":
    main()
