// The heads of a layer as a training formed them: one panel for each, at one step, or played from first to last.

import { ramp } from "./colour.js";
import { curves } from "./curves.js";
import { element } from "./element.js";
import { Panel } from "./panel.js";
import { unpack } from "./payload.js";
import { surface } from "./surface.js";
import { themeOf } from "./theme.js";
import { tipOf } from "./tip.js";

const LAPSES = new WeakMap();
const CLOSE = 40; // more tokens than this stand without a line between them
const EACH = 250; // milliseconds that a step is shown

export default function ({ data, parentElement }) {
  if (!LAPSES.has(parentElement)) LAPSES.set(parentElement, new Lapse(parentElement.querySelector("div")));
  LAPSES.get(parentElement).take(data);
}

class Lapse {
  constructor(root) {
    this.root = root;
    this.frame = -1;
    this.panels = [];
    root.className = "lapse";
    this.button = element("button", { type: "button" });
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    this.range = element("input", { type: "range", min: 0, step: 1 });
    this.range.addEventListener("input", () => {
      this.pause();
      this.show(Number(this.range.value));
    });
    this.output = element("output", {});
    this.bar = element("div", { className: "bar" }, this.button, this.range, this.output);
    this.heads = element("div", { className: "heads" });
    this.below = element("div", { className: "curves" });
    this.tip = tipOf(root);
    root.append(this.bar, this.heads, this.below, this.tip.element);
  }

  /** Take over what Python packed (forming.py); the step that is shown stays so where it still exists. */
  take(bytes) {
    const { header, array } = unpack(bytes);
    const before = this.frame < 0 || this.frame === this.of.steps.length - 1 ? null : this.of.steps[this.frame];
    const at = header.steps.indexOf(before);
    this.of = { ...header, values: array(header.values), ramp: ramp(header.colours) };
    const { steps, words, pictures } = this.of;
    this.bar.hidden = steps.length < 2 && !pictures.length;
    this.below.hidden = !pictures.length;
    this.range.max = steps.length - 1;
    this.range.setAttribute("aria-label", words.step);
    this.range.setAttribute("aria-valuetext", "");
    this.fit();
    this.name();
    this.show(at < 0 ? steps.length - 1 : at);
  }

  /** Have as many panels as heads, and the curves where there are any. */
  fit() {
    const { heads, pictures } = this.of;
    for (const { root } of this.panels.splice(heads)) root.parentElement.remove();
    while (this.panels.length < heads) {
      const own = element("div", {});
      this.heads.append(element("figure", {}, element("figcaption", {}), own));
      this.panels.push(new Panel(own));
    }
    if (!pictures.length || this.drawn) return;
    const view = curves(this);
    view.prepare = () => {
      this.theme = themeOf(this.root);
    };
    this.drawn = surface(this.below, view);
  }

  pictures = () => this.of.pictures;
  step = () => this.of.steps[this.frame];
  last = () => this.of.steps.at(-1);

  /** Show the frame nearest to a step. */
  go(step) {
    this.pause();
    const far = this.of.steps.map((each) => Math.abs(each - step));
    this.show(far.indexOf(Math.min(...far)));
  }

  show(frame) {
    this.frame = frame;
    const { steps, words } = this.of;
    this.range.value = frame;
    this.output.textContent = `${words.step} ${steps[frame]}`;
    this.range.setAttribute("aria-valuetext", this.output.textContent);
    this.panels.forEach((panel, head) => panel.take(this.scene(head), null));
    this.drawn?.canvas.setAttribute("aria-label", this.of.pictures.map(({ title }) => title).join(" · "));
    this.drawn?.redraw();
  }

  /** Return a head at the step that is shown, as a panel takes it. */
  scene(head) {
    const { rows, columns, heads, values, words, says, ramp: colours, name } = this.of;
    const size = rows.length * columns.length;
    const begin = (this.frame * heads + head) * size;
    const title = `${words.head} ${head + 1}`;
    const caption = this.panels[head].root.previousSibling;
    caption.textContent = title;
    caption.style.color = this.of.headColours[head % this.of.headColours.length];
    const scale = { ramp: colours, limit: 100, signed: false, ticks: ["0 %", "100 %"] };
    const drawn = { key: `${rows.length}/${columns.length}`, values: values.subarray(begin, begin + size), scale, rows, columns };
    const looks = { fit: "square", lines: columns.length <= CLOSE, pixels: 11, digits: 0 };
    const around = { alt: title, title: `${title} · ${words.step} ${this.step()}`, name: `${name}-${head + 1}-${this.step()}` };
    return { ...drawn, ...looks, ...around, group: name, says, words, paint: null };
  }

  play() {
    const next = () => {
      if (!this.root.isConnected || this.frame + 1 >= this.of.steps.length) this.pause();
      else this.show(this.frame + 1);
    };
    if (this.frame + 1 >= this.of.steps.length) this.show(0);
    this.timer = setInterval(next, EACH);
    this.name();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.name();
  }

  /** Say what is pointed at in the curves. */
  say(said, place) {
    if (!said) return this.tip.hide();
    const [step, held] = said;
    return this.tip.show(this.drawn.canvas, place, [[`${this.of.words.step} ${step}`, ...held].join("\n")]);
  }

  /** Name the button by what it does. */
  name() {
    const { play, pause } = this.of.words;
    this.button.textContent = this.timer ? `❚❚ ${pause}` : `▶ ${play}`;
  }
}
