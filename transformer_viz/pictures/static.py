"""Pictures of attention that stand still, drawn by Matplotlib: for papers, and for notebooks without scripts.

Only this module and `fonts` need Matplotlib, the extra `figures`. Lengths are in points, 1/72 inch.
"""

import itertools
import os
import re
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from transformer_viz.language import Problem
from transformer_viz.pictures.fonts import are_truetype, fonts_of
from transformer_viz.pictures.opened import Opened, numbers_of
from transformer_viz.pictures.theme import (
    DIVERGING,
    GAP,
    HEADS,
    MUTED,
    SEQUENTIAL,
    TEXT,
    percent,
    weight_limit,
)
from transformer_viz.pictures.views import AttentionPayload
from transformer_viz.text.unicode import visible

if matplotlib.__version_info__ < (3, 11):
    raise ImportError("Matplotlib before 3.11 does not join the letters of Arabic and Hindi.")

CM = 72 / 2.54

WIDTH = 12.0
"""Width of a picture in cm, if none is asked for."""

LETTERS = (8.0, 4.5)
"""Largest and smallest height of letters, if none is asked for: smaller with many tokens."""

LINE = 1.25
"""Height of a line of text in that of its letters."""

MOST_LABEL = 0.3
"""Largest share of the width that the labels of rows take."""

MOST_CELL, MOST_STEP = 30.0, 22.0
"""Largest height of a cell, and of a token beside lines."""

MOST_NAME = 6 * CM
"""Largest height of the labels of columns, which are turned if they are long."""

TIGHT = 1.02
"""Smallest distance of two labels, in the height of their letters."""

GAP_OF_SCALE = 4.0
"""Distance from a matrix to its colour scale."""

LEAST_CHANGE = 1e-4
"""The scale of a difference is not stretched to rounding errors."""

SEPARATE = 7.0
"""Size of a cell from which lines separate them."""

WIDEST_NUMBER = 0.9
"""Most width of a number, as a share of its cell."""

LEAST = 0.005
"""Smallest number that is written in its cell; a smaller one would be written as 0."""

BAR = 4.0
"""Height of a colour scale."""

FINEST = 64
"""Most cells of a thumbnail a side: of more tokens, each is the strongest of several."""

DRAWN_SINGLY = 160 * 160
"""Most cells that are shapes of their own in SVG and PDF; more are an image."""

LONG, MOST_LINES = 60, 8000
"""Keys of a text from which on weak lines are left out, and most lines, as in the interactive view."""

WIDEST, THINNEST = 3.0, 0.3
"""Width of the strongest and of the weakest line."""

EVEN_LUMINANCE = 0.1791
"""Luminance of a colour on which black and white letters have the same contrast (WCAG 2.2)."""

_CONTROL = {0x240A: "↵", 0x240D: "↵", 0x2409: "⇥"} | {
    0x2400 + code: f"⟨U+{code:04X}⟩" for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)
}
"""Signs of control characters, which no usual font has -> what is drawn for them."""


class Style(NamedTuple):
    """How a picture is drawn.

    Attributes:
        width: Its width in cm.
        font_size: Height of the letters in points; None: `LETTERS`, for each token to have a label.
        font: Name of an installed font, or several in the order of preference; None: DejaVu Sans, and fonts
            that have what it lacks.
        title: Whether a title stands above it.
    """

    width: float = WIDTH
    font_size: float | None = None
    font: str | Sequence[str] | None = None
    title: bool = True


class _Panel(NamedTuple):
    """One matrix: float (row, column) with NaN for masked cells, its scale, and how its cells are written."""

    values: np.ndarray
    title: str
    colours: Colormap
    low: float
    high: float
    ticks: tuple[str, ...]
    are_shares: bool = True


def save(
    file: str | os.PathLike[str] | BinaryIO,
    form: str,
    opened: Opened,
    style: Style | None = None,
    *,
    dpi: float = 300,
) -> None:
    """Write a picture of the selection on which a page opens.

    Side by side, the selected head is a matrix, of a comparison three; all heads are thumbnails; lines are
    those of the heads that are shown.

    Args:
        file: Path, or a file open for writing bytes.
        form: "svg", "png" or "pdf".
        opened: What to show.
        style: How it is drawn; None: as `Style` says.
        dpi: Pixels per inch of a PNG, and of images in the other forms.

    Raises:
        ValueError: If a letter is in no installed font, or a view cannot be drawn.
    """
    style = style or Style()
    if opened.view == "steps":
        raise Problem("figures.steps")
    attention, labels = opened.attention, opened.labels
    several = [attention.name] if len(opened.attentions) > 1 else []
    title = " · ".join(part for part in (opened.model, *several, _title(opened)) if part)
    tokens = tuple([_drawable(label) for label in side] for side in attention.tokens)
    texts = [*itertools.chain(*tokens), title, attention.title, labels["key"], labels["masked"]]
    texts += labels["values"].values()
    named = fonts_of([*texts, labels["side_change"]], style.font)
    options: dict[Any, Any] = {
        "font.family": named,
        "text.parse_math": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "",
        "pdf.fonttype": 42 if are_truetype(named) else 3,
    }
    draw = {"grid": _thumbnails, "lines": _lines}.get(opened.view, _matrices)
    with matplotlib.rc_context(options):
        figure = draw(opened, tokens, _Sheet(style, title))
        metadata = {"svg": {"Date": None, "Title": title}, "pdf": {"CreationDate": None, "Title": title}}
        figure.savefig(file, format=form, dpi=dpi, facecolor="white", metadata=metadata.get(form))


def _title(opened):
    attention = opened.attention
    if opened.view == "grid":
        layers = attention.found.layers
        return opened.labels["grid_title"].format(layers=len(layers), heads=len(layers[0].weights))
    if opened.view == "lines" and len(opened.heads) > 1:
        heads = ", ".join(str(head + 1) for head in sorted(opened.heads))
        return opened.labels["lines_title"].format(layer=attention.number(opened.layer), heads=heads)
    return opened.name


def _drawable(label):
    return visible(label).translate(_CONTROL)


def _panels(opened, layer, head):
    """Return the matrices of a head: one, or of a comparison three."""
    attention, labels = opened.attention, opened.labels
    after = numbers_of(attention.found, layer, head)
    if attention.before is None:
        return [_panel(after, attention, layer, labels)]
    before = numbers_of(attention.before, layer, head)
    both = np.stack([before, after])
    limit = _limit(both, attention, layer)
    is_gap = np.isnan(both).all(axis=0) | _alone(attention)[0][:, None]
    change = np.where(is_gap, np.nan, np.nan_to_num(after) - np.nan_to_num(before))
    most = max(float(np.nanmax(np.abs(change), initial=0)), LEAST_CHANGE)
    points = f"{100 * most:.0f}" if most >= 0.1 else f"{100 * most:.2g}"
    ticks = (f"−{points}", "0", f"+{points} {labels['values']['change']}")
    return [
        _weights_panel(before, "A", limit, labels),
        _weights_panel(after, "B", limit, labels),
        _Panel(change, labels["side_change"], _colours(DIVERGING), -most, most, ticks),
    ]


def _alone(attention: AttentionPayload) -> list[np.ndarray]:
    """Return which rows and columns have no counterpart in the other text: bool (query,) and (key,)."""
    places = attention.places or [np.zeros((len(tokens), 2)) for tokens in attention.tokens]
    return [np.any(side < 0, axis=1) for side in places]


def _has_masked(panel, attention):
    rows, columns = _alone(attention)
    return bool(np.isnan(panel.values[np.ix_(~rows, ~columns)]).any())


def _panel(values, attention, layer, labels):
    if not attention.signed:
        return _weights_panel(values, "", _limit(values, attention, layer), labels)
    limit = float(np.nanmax(np.abs(values), initial=0)) or 1.0
    is_signed = bool((np.nan_to_num(values) < 0).any())
    name = labels["values"]["weights"]
    low = f"−{limit:.3g}" if is_signed else "0"
    return _Panel(
        values,
        "",
        _colours(DIVERGING if is_signed else SEQUENTIAL),
        -limit if is_signed else 0.0,
        limit,
        (low, f"{limit:.3g} {name}"),
        are_shares=False,
    )


def _weights_panel(values, title, limit, labels):
    ticks = ("0", f"{percent(limit)} {labels['values']['weights']}")
    return _Panel(values, title, _colours(SEQUENTIAL), 0.0, limit, ticks)


def _limit(values, attention, layer):
    return weight_limit(np.nanmax(values, initial=0), attention.found.mask_of(layer))


def _colours(scale):
    return LinearSegmentedColormap.from_list("", [tuple(stop) for stop in scale["light"]])


class _Grid(NamedTuple):
    """Where the matrices are on a sheet, and their cells.

    Attributes:
        left: Of the first.
        room: Width of each.
        across: Width of a cell.
        down: Height of a cell.
        size: Height of the letters.
        names: Height of the labels of the columns.
        are_level: Whether these are horizontal.
    """

    left: float
    room: float
    across: float
    down: float
    size: float
    names: float
    are_level: bool


def _matrices(opened, tokens, sheet):
    """Return the matrices of the selected head side by side, with the labels of the rows on the left."""
    rows, _ = tokens
    panels = _panels(opened, opened.layer, opened.head)
    grid = _grid_of(sheet, tokens, len(panels))
    size, line = grid.size, grid.size * LINE
    titles = [_wrapped(panel.title, size, grid.room) for panel in panels]
    top = sheet.above + max(map(len, titles)) * line + line + grid.names
    down = len(rows) * grid.down
    figure = sheet.figure(top + down + GAP_OF_SCALE + BAR + line + sheet.margin)
    for number, panel in enumerate(panels):
        left = grid.left + number * (grid.room + sheet.gap)
        axes = sheet.axes(figure, left, top, grid.room, down)
        _draw_cells(axes, panel, grid)
        _label(axes, tokens, opened.attention.words, grid, with_rows=number == 0)
        key = _fitted(opened.labels["key"], size, grid.room)
        sheet.write(figure, left, top - grid.names - 3, key, size, va="bottom")
        for above, text in enumerate(reversed(titles[number]), 1):
            high = top - grid.names - 3 - above * line
            sheet.write(figure, left, high, text, size, va="bottom", color=TEXT["light"])
        masked = opened.labels["masked"] if _has_masked(panel, opened.attention) else ""
        _draw_scale(sheet, figure, (left, top + down + GAP_OF_SCALE, grid.room), panel, size, masked)
    turned = {"rotation": 90, "va": "center"}
    sheet.write(figure, sheet.margin, top + down / 2, opened.attention.title, size, **turned)
    return figure


def _grid_of(sheet, tokens, count):
    """Return the layout with the largest letters with which every column has a label, else the smallest."""
    rows, columns = tokens
    for size in sheet.sizes:
        left = sheet.margin + size * LINE + _widest(rows, size, MOST_LABEL * sheet.width) + 6
        room = (sheet.width - left - sheet.margin - sheet.gap * (count - 1)) / count
        across = room / len(columns)
        if across >= size * TIGHT:
            break
    are_level = _widest(columns, size, sheet.width) <= across - 2
    names = size * LINE if are_level else _widest(columns, size, MOST_NAME) + 4
    return _Grid(left, room, across, min(across, MOST_CELL), size, names, are_level)


def _label(axes, tokens, words, grid, *, with_rows):
    """Write the tokens beside the rows and above the columns, as many as have room."""
    (rows, columns), (row_words, column_words) = tokens, words
    font = {"fontsize": grid.size, "color": TEXT["light"]}
    for place, text in _labelled(columns, column_words, grid.size * TIGHT / grid.across):
        turned = {"rotation": 0 if grid.are_level else 90, "ha": "center", "va": "bottom"}
        axes.text(place, -2 / grid.down, _fitted(text, grid.size, MOST_NAME), **turned, **font)
    for place, text in _labelled(rows, row_words, grid.size * TIGHT / grid.down) if with_rows else []:
        shown = _fitted(text, grid.size, grid.left)
        axes.text(-3 / grid.across, place, shown, ha="right", va="center", **font)


def _labelled(labels, words, near):
    """Return place and text of as many labels as have room, of words where not every token has."""
    places = [(index, index + 1, label) for index, label in enumerate(labels)]
    if near > 1:
        inside = {index for begin, end, _ in words for index in range(begin, end)}
        places = sorted([*(place for place in places if place[0] not in inside), *words])
    found: list[tuple[float, str]] = []
    for begin, end, text in places:
        if not found or (begin + end) / 2 - found[-1][0] >= near:
            found.append(((begin + end) / 2, text))
    return found


def _draw_cells(axes, panel, grid):
    rows, columns = panel.values.shape
    axes.set_facecolor(GAP["light"])
    is_large = min(grid.across, grid.down) >= SEPARATE
    axes.pcolormesh(
        np.ma.masked_invalid(panel.values),
        cmap=panel.colours,
        vmin=panel.low,
        vmax=panel.high,
        edgecolors="white" if is_large else "face",
        linewidth=0.5 if is_large else 0.1,
        rasterized=rows * columns > DRAWN_SINGLY,
    )
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    places = np.argwhere(np.abs(np.nan_to_num(panel.values)) >= LEAST)
    texts = [_cell_text(panel.values[*place], panel) for place in places]
    if grid.down < LINE * grid.size or _widest(texts, grid.size, np.inf) > WIDEST_NUMBER * grid.across:
        return
    for (row, column), text in zip(places, texts, strict=True):
        value = panel.values[row, column]
        ink = _ink_on(panel.colours((value - panel.low) / (panel.high - panel.low)))
        where = column + 0.5, row + 0.5
        axes.text(*where, text, fontsize=grid.size, ha="center", va="center", color=ink)


def _cell_text(value, panel):
    """Return a share in percent, a difference of two with its sign, and a number as cells.js writes it."""
    if panel.are_shares:
        text = f"{100 * value:+.0f}" if panel.low < 0 else f"{100 * value:.0f}"
    else:
        digits = 2 if abs(value) < 0.995 else 1 if abs(value) < 9.95 else 0
        text = re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")
    return text.replace("-", "−")


def _ink_on(colour):
    channels = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], channels))
    return "black" if luminance > EVEN_LUMINANCE else "white"


def _draw_scale(sheet, figure, place, panel, size, masked):
    """Draw the colours below a matrix with their numbers; if some cells are masked, beside the first one the
    colour of these.
    """
    left, top, room = place
    axes = sheet.axes(figure, left, top, room, BAR)
    axes.imshow(np.linspace(0, 1, 256)[None], aspect="auto", cmap=panel.colours, extent=(0, 1, 0, 1))
    first, *between, last = panel.ticks
    sheet.write(figure, left, top + BAR + 2, first, size, ha="left", va="top")
    sheet.write(figure, left + room, top + BAR + 2, last, size, ha="right", va="top")
    for middle in between:
        if room / 2 > _widest([first, last], size, room) + _width(middle, size):
            sheet.write(figure, left + room / 2, top + BAR + 2, middle, size, ha="center", va="top")
    beside = _width(first, size) + size
    end = room / 2 - _width(between[0], size) / 2 if between else room - _width(last, size)
    if masked and beside + 1.3 * size + _width(masked, size) < end - size / 2:
        box = sheet.axes(figure, left + beside, top + BAR + 3, size, size)
        box.set_facecolor(GAP["light"])
        sheet.write(figure, left + beside + 1.3 * size, top + BAR + 2, masked, size, ha="left", va="top")


def _thumbnails(opened, _, sheet):
    """Return all heads as thumbnails, a row for each layer."""
    attention, size = opened.attention, sheet.sizes[0]
    layers = attention.found.layers
    heads, queries, keys = layers[0].weights.shape
    left = sheet.margin + _widest([str(attention.number(len(layers) - 1))], size, sheet.width) + 5
    gap = min(6.0, (sheet.width - left) / heads / 6)
    side = (sheet.width - left - sheet.margin) / heads - gap
    tall = side * min(2.0, max(0.5, queries / keys))
    top = sheet.above + size * LINE + 2
    figure = sheet.figure(top + len(layers) * (tall + gap) + sheet.margin)
    for layer, traced in enumerate(layers):
        above = top + layer * (tall + gap)
        number = str(attention.number(layer))
        sheet.write(figure, left - 4, above + tall / 2, number, size, ha="right", va="center")
        for head in range(heads):
            if not traced.weights[head].any():
                continue  # the layer has fewer heads
            [*_, panel] = _panels(opened, layer, head)
            axes = sheet.axes(figure, left + head * (side + gap), above, side, tall)
            axes.set_facecolor(GAP["light"])
            scale = {"cmap": panel.colours, "vmin": panel.low, "vmax": panel.high}
            image = np.ma.masked_invalid(_pooled(panel.values))
            axes.imshow(image, aspect="auto", interpolation="none", **scale)
            for edge in axes.spines.values():
                edge.set(visible=True, color=GAP["light"], linewidth=0.5)
    for head in range(heads):
        middle = left + head * (side + gap) + side / 2
        sheet.write(figure, middle, top - 3, str(head + 1), size, ha="center", va="bottom")
    return figure


def _pooled(values):
    """Return at most `FINEST` rows and columns: the strongest number of those that each stands for; NaN if
    all are.
    """
    strongest = values
    for axis in (0, 1):
        count = strongest.shape[axis]
        if count > FINEST:
            begins = np.arange(FINEST) * count // FINEST
            high = np.fmax.reduceat(strongest, begins, axis=axis)
            low = np.fmin.reduceat(strongest, begins, axis=axis)
            strongest = np.where(-low > high, low, high)
    return strongest


def _lines(opened, tokens, sheet):
    """Return lines from the queries on the left to the keys on the right."""
    size, (rows, columns) = sheet.sizes[0], tokens
    count = max(len(rows), len(columns))
    step = max(size * LINE, min(MOST_STEP, 0.8 * sheet.width / count))
    wide, also = (_widest(side, size, MOST_LABEL * sheet.width) + 5 for side in tokens)
    left, right = sheet.margin + wide, sheet.width - sheet.margin - also
    top = sheet.above + size * LINE + 2
    figure = sheet.figure(top + step * count + sheet.margin)
    axes = sheet.axes(figure, left, top, right - left, step * count)
    axes.set(xlim=(0, 1), ylim=(1, 0))
    for collection in _curves(opened):
        axes.add_collection(collection)
    for side, x, align in ((rows, left - 4, "right"), (columns, right + 4, "left")):
        for number, label in enumerate(side):
            y = top + (number + 0.5) * step * count / len(side)
            text = _fitted(label, size, MOST_LABEL * sheet.width)
            sheet.write(figure, x, y, text, size, ha=align, va="center", color=TEXT["light"])
    sheet.write(figure, sheet.margin, top - 4, opened.attention.title, size, va="bottom")
    key = opened.labels["key"]
    sheet.write(figure, sheet.width - sheet.margin, top - 4, key, size, ha="right", va="bottom")
    return figure


def _curves(opened):
    """Return the lines of each head that is shown, the stronger the wider and darker."""
    attention, found = opened.attention, opened.attention.found
    numbers = {head: np.nan_to_num(numbers_of(found, opened.layer, head)) for head in opened.heads}
    most = max(float(np.abs(each).max(initial=0)) for each in numbers.values()) or 1.0
    rows, columns = next(iter(numbers.values())).shape
    least = 0.05 if columns > LONG else min(0.02, 1.5 / columns)
    strengths = np.concatenate([np.abs(each).ravel() for each in numbers.values()])
    if len(strengths) > MOST_LINES:
        least = max(least, float(np.partition(strengths, -MOST_LINES)[-MOST_LINES]))
    least = least * most if attention.signed else least
    found = []
    for head, each in numbers.items():
        edges = np.argwhere(np.abs(each) >= max(least, 1e-9))
        edges = edges[np.argsort(np.abs(each[tuple(edges.T)]))]
        paths = [_curve((query + 0.5) / rows, (key + 0.5) / columns) for query, key in edges]
        values = each[tuple(edges.T)]
        share = np.abs(values) / most
        colours = np.array([_line_colour(attention, head, value) for value in values])
        if len(colours):
            colours = np.column_stack([colours, 0.1 + 0.85 * share**0.8])
        widths = np.maximum(THINNEST, WIDEST * share)
        found.append(PathCollection(paths, facecolors="none", edgecolors=colours, linewidths=widths))
    return found


def _line_colour(attention, head, value):
    if attention.signed:
        return to_rgb(DIVERGING["light"][0 if value < 0 else -1][1])
    return to_rgb(HEADS["light"][head % len(HEADS["light"])])


def _curve(begin, end):
    return Path([(0, begin), (0.4, begin), (0.6, end), (1, end)], [Path.MOVETO, *[Path.CURVE4] * 3])


class _Sheet:
    """Paper of a width, with a height that follows from what is on it; lengths begin at its upper left."""

    margin = 3.0
    gap = 10.0

    def __init__(self, style: Style, title: str):
        self.width = style.width * CM
        self.sizes = [style.font_size] if style.font_size else np.linspace(*LETTERS, 8).tolist()
        self.title = title if style.title else ""
        self.above = self.margin + (self.sizes[0] * LINE * 1.3 if self.title else 0)
        self.height = 0.0

    def figure(self, height: float) -> Figure:
        self.height = height
        figure = Figure(figsize=(self.width / 72, height / 72))
        if self.title:
            room = self.width - 2 * self.margin
            size = self.sizes[0] * 1.1
            title = _fitted(self.title, size, room)
            self.write(figure, self.margin, self.margin, title, size, bold=True, va="top")
        return figure

    def axes(self, figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
        bottom = self.height - top - height
        place = left / self.width, bottom / self.height, width / self.width, height / self.height
        axes = figure.add_axes(place)
        axes.set(xticks=[], yticks=[])
        for edge in axes.spines.values():
            edge.set_visible(False)
        return axes

    def write(self, figure, left, top, text, size, *, bold=False, color=MUTED["light"], **align):
        at = left / self.width, 1 - top / self.height
        weight, colour = ("bold", TEXT["light"]) if bold else ("normal", color)
        figure.text(*at, text, fontsize=size, color=colour, fontweight=weight, **align)


def _width(text, size):
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return width


def _widest(texts, size, most):
    return min(most, max((_width(text, size) for text in texts), default=0.0))


def _wrapped(text, size, room):
    """Return the lines of a text, broken at spaces where it is wider than the room."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(_fitted(word, size, room))
    return lines


def _fitted(text, size, room):
    """Return a text, cut to a width."""
    cut = text
    while cut and _width(f"{cut}…" if cut != text else cut, size) > room + 0.5:
        cut = cut[:-1]
    return text if cut == text else f"{cut}…"
