// The workbench: one model and one text, what the model answers, why, and every view of its attention.

import { forget, isProjected, keepRun, remember, runInAddress, start, write } from "./address.js";
import { parts as marked, menu } from "./blocks.js";
import { onKey } from "./keys.js";
import { mount } from "./lens.js";
import { html, nothing, render } from "./lit.js";
import { MapOfModel } from "./map.js";
import { bitsOf, digitsOf } from "./paint.js";
import { received, unpack } from "./payload.js";
import { RefusedError, ROUTES } from "./routes.js";
import { save } from "./saving.js";
import { completeWords, takenAway, without, wordsOf } from "./sentence.js";
import { fill } from "./text.js";

/** @import {OtherFile} from "./controls.js" */
/** @import {LensHost} from "./lens.js" */
/** @import {Act, DescribedEffects, Experiment, Item, Said} from "./payload.js" */
/** @import {Box} from "./place.js" */
/** @import {Answer, Header, Progress, Question, Run} from "./routes.js" */
/** @import {State as Selected} from "./selection.js" */
/** @import {Shown, Tint, Word} from "./sentence.js" */
/** @import {Component} from "./streamlit.js" */

/**
 * What Python tells the workbench (ui/workbench/mount.py).
 *
 * @typedef {object} Told
 * @property {string} token For the data routes.
 * @property {string} page
 * @property {string} model Its name.
 * @property {string} stamp Another one once the model is written anew.
 * @property {string} language
 * @property {string[]} examples
 * @property {boolean} hasTarget Whether a target can be typed.
 * @property {boolean} isLive Whether a run follows what is typed.
 * @property {{name: string, revealed: boolean} | null} lesson
 * @property {(Record<"text" | "target" | "changes" | "before", string> & {number: number, ablates: boolean}) | null} opened
 *   The run that a page or a lesson has opened last.
 * @property {string | null} firstLesson What leads to the first lesson; null: one is open, or there is none.
 * @property {boolean} projected
 * @property {Record<string, string>} words
 */

/** @typedef {Record<"about" | "rather" | "at", string>} About Which answer is explained; "": as usual. */

/** @typedef {{said: string, unit: string, words: Record<string, Tint[]>}} Side What is said of one of two runs. */

/**
 * The reasons of an answer.
 *
 * @typedef {object} Reasons
 * @property {string} run
 * @property {Record<string, DescribedEffects>} kinds
 * @property {Side} b
 * @property {Side} [a]
 * @property {string} [measured]
 * @property {Partial<Record<keyof About, Offer>> | null} menus
 */

/** @typedef {{label: string, usual: string, options: [value: string, text: string][], typed?: boolean}} Offer */

/**
 * @typedef {Run & {looks: string[], ablates: boolean, why: boolean | null, asks: About,
 *   experiments: Record<string, Record<string, string>>}} State What is chosen on the pages of experiments, by page.
 */

const PATIENCE = 600; // milliseconds after which progress is shown
const MOST_IN_ADDRESS = 2000; // characters of a text
const MOST_CHANGES = 3000; // characters of changes, and of another run
const MOST_RUNS = 12; // runs that are remembered
const MOST_NAMED = 48; // characters of a text that names its run
const PAUSE = 40; // milliseconds before a run follows what is typed
const LESSON_SEEN = "transformer-viz-lesson"; // kept in the browser: whether a lesson was ever opened
const LATER = 300; // milliseconds after which the server is told what is shown

/** Pages of experiments, with the parts of the address that say what is chosen there. @type {Record<string, string[]>} */
const EXPERIMENTS = {
  masks: ["mask", "reach", "causal", "pads", "bits"],
  positions: ["do", "swap", "seed"],
};

/** @type {About} */
const AS_USUAL = { about: "", rather: "", at: "" };

/** @type {WeakMap<Element, Workbench>} */
const MOUNTED = new WeakMap();

/** What was shown last: the workbench may be removed from the page, and be shown again. */
const LAST = { state: /** @type {State | null} */ (null), opened: 0, runs: /** @type {Run[]} */ ([]) };

/** Whether the browser has gone back or forward in its history, and nothing was pressed since: its address counts. */
let isBack = false;
window.addEventListener("popstate", () => (isBack = true), true);
for (const event of ["pointerdown", "keydown"]) window.addEventListener(event, () => (isBack = false), true);

/** @param {Component<Told>} component */
export default function (component) {
  const { parentElement: parent } = component;
  const root = parent.querySelector("div");
  let bench = MOUNTED.get(parent);
  if (!bench && root) MOUNTED.set(parent, (bench = new Workbench(root)));
  bench?.update(component);
  return () => {
    if (bench?.component !== component) return; // a call that another has overtaken: Streamlit ends it at once
    bench.destroy();
    MOUNTED.delete(parent);
  };
}

class Workbench {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.top = document.createElement("div");
    this.top.className = "bench";
    this.views = document.createElement("div");
    this.steps = document.createElement("div");
    root.append(this.top, this.views, this.steps);
    /** @type {MapOfModel | null} */
    this.map = null;
    /** @type {Told | null} */
    this.told = null;
    /** @type {State} */
    this.state = LAST.state ?? this.fresh({});
    /** @type {ReturnType<typeof mount> | null} */
    this.lens = null;
    /** @type {Header | null} */
    this.header = null; // of the answer that is shown
    /** @type {Said | null} */
    this.said = null;
    /** @type {Reasons | null} */
    this.reasons = null;
    /** @type {Progress | null} */
    this.progress = null;
    /** @type {Progress | null} */
    this.reasoning = null;
    this.stopped = false;
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {string | null} */
    this.typed = null; // the text in the box; null: the words are shown
    this.composing = false;
    this.living = false; // a run follows what is typed, and is not there yet
    /** @type {number | null} */
    this.chosen = null; // number of the word that is pressed
    this.place = ""; // page and model in the address, of what Python has said last
    this.projected = isProjected(); // whether the views are drawn larger
    this.reopens = false; // the next picture opens with the selection of the address
    this.kind = readKind(); // of attention, which the views have selected
    /** @type {string[]} */
    this.painted = []; // masks that were painted, to be undone
    this.tokens = ""; // how many of them have a row and a column in these
    this.above = new ResizeObserver(() => this.lens?.fit()); // what stands there takes the room of the views
    this.above.observe(this.top);
    this.back = () => this.goBack();
    window.addEventListener("popstate", this.back);
    onKey(this.top, ".word", (event, word) => this.keyOnWord(event, Number(word.dataset.word)));
    onKey(this.top, "textarea", (event) => this.keyInBox(event));
    onKey(document.body, "*", (event) => this.root.isConnected && this.pressed(event));
    this.leave = (/** @type {Event} */ event) => this.left(event);
    document.addEventListener("pointerdown", this.leave);
  }

  destroy() {
    this.asking?.abort();
    this.above.disconnect();
    this.lens?.destroy();
    this.map?.stop();
    keepRun(null);
    window.removeEventListener("popstate", this.back);
    document.removeEventListener("pointerdown", this.leave);
  }

  get words() {
    return /** @type {Told} */ (this.told).words;
  }

  /** What Python has said since the last time. @param {Component<Told>} component */
  update(component) {
    const { data, setStateValue, setTriggerValue } = component;
    const former = this.told;
    this.component = component;
    this.told = data;
    this.place = placeInAddress();
    this.send = { setStateValue, setTriggerValue };
    ROUTES.token = data.token;
    if (former && former.projected !== data.projected && data.projected !== this.projected) {
      this.projected = data.projected; // chosen on the page around
      setStateValue("projected", data.projected); // Python is told of what differs from the last it was told
      this.lens?.project(data.projected);
    }
    const { opened } = data;
    const changed = opened && opened.number !== LAST.opened;
    if (changed) this.openRun(opened);
    else if (!former) this.begin();
    else if (isBack && (former.model !== data.model || this.isOther(former))) this.reopen();
    else if (former.model !== data.model) this.changeModel(former);
    else if (this.isOther(former)) this.ask();
    else if (former.token !== data.token && !this.header) this.ask();
    write();
    this.draw();
  }

  /** @param {Told} former */
  isOther({ page, stamp, language, lesson }) {
    const { told } = this;
    return (
      told?.page !== page ||
      told?.stamp !== stamp ||
      told?.language !== language ||
      JSON.stringify(told?.lesson) !== JSON.stringify(lesson)
    );
  }

  /** Open what the address says, or what was shown before another page. */
  begin() {
    const { model } = /** @type {Told} */ (this.told);
    if (isBack || LAST.state?.model !== model) this.state = this.fresh(runInAddress());
    this.ask();
  }

  /** Open what the address says to which the browser has gone back; on another page, or of another model, Python says when. */
  goBack() {
    if (placeInAddress() === this.place) this.reopen();
  }

  /** Open the run and the selection of the address. */
  reopen() {
    forget();
    this.typed = null;
    this.reopens = true;
    this.kind = readKind();
    this.state = this.fresh(runInAddress());
    this.ask();
  }

  /** Open the run that a page or a lesson asks for. @param {NonNullable<Told["opened"]>} opened */
  openRun({ number, ablates, ...parts }) {
    LAST.opened = number;
    if (this.told?.lesson) localStorage.setItem(LESSON_SEEN, "1");
    this.typed = null;
    this.state = { ...this.fresh(parts), ablates };
    this.ask({ isNew: this.header !== null });
  }

  /** Show another model the same text, or its own example if that was one. @param {Told} former */
  changeModel({ examples }) {
    const told = /** @type {Told} */ (this.told);
    const { text, target, before, looks, why } = this.state;
    const own = examples.includes(text) ? (told.examples[0] ?? "") : text;
    this.state = { ...this.fresh({}), text: own, target: told.hasTarget ? target : "", before, looks, why };
    this.ask({ isNew: true });
  }

  /**
   * Return a state with the parts of an address.
   *
   * @param {Record<string, string>} parts
   * @returns {State}
   */
  fresh(parts) {
    const { model = "", examples = [] } = this.told ?? {};
    return {
      model,
      text: parts.text ?? examples[0] ?? "",
      target: parts.target ?? "",
      changes: object(parts.changes) ?? {},
      before: object(parts.before),
      filled: [],
      looks: (parts.looks ?? "").split(".").filter(Boolean),
      ablates: parts.effects === "1",
      why: parts.why ? parts.why !== "0" : null,
      asks: { about: parts.about ?? "", rather: parts.rather ?? "", at: parts.at ?? "" },
      experiments: Object.fromEntries(
        Object.entries(EXPERIMENTS).map(([page, names]) => [page, chosenIn(parts, names)]),
      ),
    };
  }

  /** What is chosen on the page of an experiment; null: this page is none. */
  get experiment() {
    const { page = "" } = this.told ?? {};
    return page in EXPERIMENTS ? this.state.experiments[page] : null;
  }

  /** The parts of the address that say what is shown, without those that are as usual. */
  parts() {
    const { text, target, changes, before, looks, ablates, why, asks } = this.state;
    const first = this.told?.examples[0] ?? "";
    if (this.experiment) return { ...this.experiment, text: text === first ? "" : text, target };
    const [changed, other] = [changes, before].map((each) =>
      each && Object.keys(each).length ? JSON.stringify(each) : "",
    );
    return {
      text: text === first || text.length > MOST_IN_ADDRESS ? "" : text,
      target,
      changes: changed.length > MOST_CHANGES ? "" : changed,
      before: other.length > MOST_CHANGES ? "" : other,
      looks: looks.join("."),
      effects: ablates ? "1" : "",
      why: why === null || why === !this.told?.lesson ? "" : why ? "1" : "0",
      ...asks,
    };
  }

  /** @returns {Question} */
  question() {
    const { model, text, target, changes, before, filled, looks, ablates } = this.state;
    const { stamp, language, lesson } = /** @type {Told} */ (this.told);
    const around = { stamp, language, lesson: lesson?.name ?? "", revealed: lesson?.revealed ?? false };
    if (this.experiment) {
      const plain = { changes: {}, before: null, filled: [], looks: [], ablates: false };
      const { page } = /** @type {Told} */ (this.told);
      /** @type {Record<string, string>} */
      const experiment = { page, ...(page === "masks" ? { kind: this.kind } : {}), ...this.experiment };
      return { model, text, target, ...plain, ...around, experiment };
    }
    const question = { model, text, target, changes, before, filled, looks, ablates, ...around };
    return this.told?.page === "map" ? { ...question, wants: /** @type {const} */ ("map") } : question;
  }

  /**
   * Ask for the run of the state, and show it.
   *
   * @param {{act?: Act, isNew?: boolean, live?: string}} [how] act: changes it first; isNew: whether it is an entry of the
   *   history; live: the text that is being typed, in place of its own.
   */
  async ask({ act, isNew = false, live } = {}) {
    const question = { ...this.question(), ...(live === undefined ? {} : { text: live, filled: [] }) };
    if (!act && live === undefined) keepRun(this.parts(), { isNew });
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.living = live !== undefined;
    this.stopped = false;
    const known = act ? null : ROUTES.known(question);
    if (known) {
      this.take(question, known, { live });
      if (live === undefined) this.tellLater();
      return;
    }
    const timer = setTimeout(
      () => this.waits(asking, { said: this.words["work.working"], share: 0 }),
      PATIENCE,
    );
    const begun = performance.now();
    const tell = (/** @type {Progress} */ progress) => {
      if (performance.now() - begun > PATIENCE) this.waits(asking, progress);
    };
    let answer;
    try {
      answer = await ROUTES.ask(question, {
        ...{ act, tell, signal: asking.signal },
        ...(live === undefined ? {} : { live: true }),
      });
    } catch (error) {
      if (!asking.signal.aborted) this.fails(error);
      return;
    } finally {
      clearTimeout(timer);
    }
    if (asking.signal.aborted) return;
    if (act) this.adopt(answer.header.state);
    this.take(act ? this.question() : question, answer, { live });
  }

  /** @param {AbortController} asking @param {Progress} progress */
  waits(asking, progress) {
    if (asking.signal.aborted) return;
    this.progress = progress;
    this.draw();
  }

  /** @param {unknown} error */
  fails(error) {
    this.progress = null;
    this.living = false;
    const state = this.question();
    const problem = this.words[error instanceof RefusedError ? "bench.refused" : "bench.unreachable"];
    this.header = { state, problem, bytes: 0 };
    this.draw();
    if (error instanceof RefusedError) this.tellModel(); // it may be gone
  }

  /** End what is being worked on. */
  stop() {
    this.asking?.abort();
    this.progress = null;
    this.stopped = true;
    this.draw();
  }

  /** Take the state after an act; another model is chosen in the header of the page. @param {Run} run */
  adopt(run) {
    const { model } = this.state;
    this.state = { ...this.state, ...run };
    this.typed = null;
    if (run.model !== model) this.openModel(run.model);
    keepRun(this.parts(), { isNew: true });
  }

  /** Choose another model in the header of the page. @param {string} model */
  openModel(model) {
    if (this.told) this.told = { ...this.told, model };
    this.tellModel();
  }

  /** The model may have been written anew: then Python says what it is now. @param {string} stamp */
  renew(stamp) {
    const told = /** @type {Told} */ (this.told);
    if (stamp === told.stamp) return;
    this.told = { ...told, stamp };
    this.tellModel();
  }

  /** Tell Python which model is shown; it says what there is. */
  tellModel() {
    this.send?.setTriggerValue("model", this.state.model);
  }

  /**
   * Show an answer.
   *
   * @param {Question} question
   * @param {Answer} answer
   * @param {{live?: string}} how
   */
  take(question, answer, { live }) {
    const { header, bytes } = answer;
    this.progress = null;
    if (header.busy) return this.liveLater();
    if (live === undefined && header.stamp !== undefined) this.renew(header.stamp);
    this.header = header;
    this.shown = question;
    this.reasons = null;
    this.reasoning = null;
    this.chosen = null;
    if (header.left_out)
      Object.assign(this.state, header.state, { looks: header.looks, ablates: header.ablates });
    if (header.left_out) keepRun(this.parts());
    const former = this.lens;
    if (bytes.length) this.picture(bytes);
    else this.said = null;
    if (live === undefined && this.showsHeads && bytes.length) former?.keep();
    if (this.said?.experiment) ROUTES.keep(this.question(), answer); // what was chosen by itself is the same question
    LAST.state = this.state;
    if (live === undefined && bytes.length) this.note();
    this.draw();
    if (this.said && this.explains) this.askWhy(question, live !== undefined);
    if (live !== undefined) this.lived();
    return undefined;
  }

  /** @param {Uint8Array} bytes */
  picture(bytes) {
    if (this.told?.page === "map") {
      if (this.map) this.map.update(bytes);
      else this.map = new MapOfModel(this.steps, bytes);
      this.said = this.map.header.said ?? null;
      this.map.openWanted();
      return;
    }
    this.views.hidden = false; // what is hidden has no size
    if (this.lens) this.lens.update(bytes, this.reopens);
    else this.lens = mount(this.views, bytes, this.host());
    this.reopens = false;
    this.said = this.lens.said();
    const { experiment } = this.said ?? {};
    if (!experiment || !this.told) return;
    const { queries, keys } = this.shapeOfMask();
    if (!experiment.painted || this.tokens !== `${queries}/${keys}`) this.painted = [];
    this.tokens = `${queries}/${keys}`;
    const kept = Object.entries(experiment.kept).filter(([, value]) => value);
    this.state.experiments[this.told.page] = Object.fromEntries(kept);
    this.kind = experiment.of ?? this.kind;
    keepRun(this.parts());
  }

  /** Remember the run among those that were shown. */
  note() {
    const { model, text, target, changes } = this.state;
    const run = { model, text, target, changes, before: null, filled: [] };
    const others = LAST.runs.filter((each) => JSON.stringify(each) !== JSON.stringify(run));
    LAST.runs = [run, ...others].slice(0, MOST_RUNS);
  }

  /** Tell the server a little later which run is shown, for its other pages. */
  tellLater() {
    clearTimeout(this.telling);
    const { text, target, changes, before } = this.state;
    const [changed, other] = [changes, before].map((each) =>
      each && Object.keys(each).length ? JSON.stringify(each) : "",
    );
    this.telling = setTimeout(() => ROUTES.show({ text, target, changes: changed, before: other }), LATER);
  }

  /** Whether the answer is to be explained: in a lesson only if that is asked for. */
  get explains() {
    if (this.told?.page === "map") return false;
    return Boolean(this.said?.explains && !this.said.why_not && this.wantsWhy);
  }

  /** Whether heads are shown, which other ways to show them and the like are about. */
  get showsHeads() {
    return this.told?.page === "attention";
  }

  get wantsWhy() {
    return this.state.why ?? !this.told?.lesson;
  }

  /** @param {Question} question @param {boolean} live */
  async askWhy(question, live) {
    const asked = { ...question, wants: /** @type {const} */ ("why"), about: this.state.asks };
    const { asking } = this;
    let answer = ROUTES.known(asked);
    try {
      if (!answer) {
        const begun = performance.now();
        const tell = (/** @type {Progress} */ progress) => {
          if (performance.now() - begun < PATIENCE || asking?.signal.aborted) return;
          this.reasoning = progress;
          this.draw();
        };
        answer = await ROUTES.ask(asked, { tell, signal: asking?.signal, ...(live ? { live } : {}) });
      }
    } catch (error) {
      if (!asking?.signal.aborted) this.fails(error);
      return;
    }
    if (asking?.signal.aborted || this.shown !== question) return;
    this.reasoning = null;
    if (answer.bytes.length) this.explain(answer.bytes);
    else if (this.header) this.header = { ...this.header, problem: answer.header.problem };
    this.draw();
  }

  /** @param {Uint8Array} bytes */
  explain(bytes) {
    const { header, array } = unpack(bytes);
    this.reasons = header;
    /** @type {Record<string, DescribedEffects>} */
    const kinds = header.kinds ?? {};
    const found = Object.entries(kinds).map(([kind, effects]) => [kind, received(effects, array)]);
    this.lens?.receive({ run: header.run, kinds: Object.fromEntries(found) });
  }

  /** The page around the views. @returns {LensHost} */
  host() {
    this.projected = isProjected();
    return {
      start: (model) => ({ ...start(model), projected: isProjected() }),
      remember: ({ projected, ...selected }) => {
        remember(selected);
        this.kind = selected.kind;
        const { of } = this.said?.experiment ?? {};
        if (of && of !== selected.kind) queueMicrotask(() => this.ask()); // its mask is another
        if (projected !== this.projected) this.send?.setStateValue("projected", projected);
        this.projected = projected;
        this.draw(); // not every view has a mask to paint on
      },
      wantsWhy: () => this.wantsWhy,
      files: () => this.files(),
      vectors: (kind, layer) => ROUTES.vectors(this.header?.key ?? "", kind, layer),
      act: (act) => this.act(act),
      paint: (cells, allowed) => this.paint(cells, allowed),
    };
  }

  /** Change the run that is shown: not what is being typed. @param {Act} act */
  act(act) {
    if (this.shown) Object.assign(this.state, { text: this.shown.text, filled: this.shown.filled });
    this.ask({ act, isNew: true });
  }

  /** Choose something in the menu of an experiment. @param {Record<string, string>} chosen */
  choose(chosen) {
    const { page } = /** @type {Told} */ (this.told);
    const begun = chosen.mask === "painted" ? this.begun() : {};
    this.state.experiments[page] = { ...this.state.experiments[page], ...begun, ...chosen };
    this.ask({ isNew: true });
  }

  /** What a painted mask begins as: the one that is shown, of as many tokens. @returns {Record<string, string>} */
  begun() {
    const { bits = "", sliders = [] } = this.said?.experiment ?? {};
    return { bits, ...Object.fromEntries(sliders.map(({ name, value }) => [name, String(value)])) };
  }

  /** Allow or mask some cells. @param {Box} box @param {boolean} allowed */
  paint([row, column, lastRow, lastColumn], allowed) {
    const { queries, keys } = this.shapeOfMask();
    this.change((bits) => {
      for (let i = row; i <= lastRow; i++)
        bits.fill(Number(allowed), i * keys + column, i * keys + lastColumn + 1);
    }, queries * keys);
  }

  shapeOfMask() {
    const { queries = 0, keys = 0 } = this.lens?.shape() ?? {};
    return { queries, keys };
  }

  /** Change the painted mask. @param {(bits: Uint8Array) => void} how @param {number} cells */
  change(how, cells) {
    const now = this.experiment?.bits ?? this.said?.experiment?.bits ?? "";
    const bits = bitsOf(now, cells);
    how(bits);
    this.painted.push(now);
    this.choose({ bits: digitsOf(bits) });
  }

  /** @returns {OtherFile[]} */
  files() {
    const kinds = [
      "csv",
      ...(this.said?.before ? [] : ["npz", ...(this.reasons ? ["effects"] : [])]),
      "html",
    ];
    return kinds.map((kind) => ({
      name: this.words[`download.${kind}`],
      save: (selected) => this.saveFile(kind, selected),
    }));
  }

  /** @param {string} kind @param {Selected} selected */
  async saveFile(kind, { kind: of, layer, head, view, value, scale, sort, pinned, projected }) {
    const start = { kind: of, layer, head, view, value, scale, sort, pinned, projected };
    const about = this.reasons ? this.state.asks : null;
    try {
      save(...(await ROUTES.file(this.header?.key ?? "", kind, { start, about })));
    } catch (error) {
      this.fails(error);
    }
  }

  /** Show a text of its own: the target and what was filled in belong to another. @param {string} text */
  say(text) {
    this.typed = null;
    this.chosen = null;
    Object.assign(this.state, { text, target: "", filled: [] });
    this.ask({ isNew: true });
  }

  /** Follow what is typed, word by word. */
  follow() {
    const told = /** @type {Told} */ (this.told);
    const box = this.top.querySelector("textarea");
    const words = completeWords(this.typed ?? "", box?.selectionEnd);
    if (!told.isLive || this.composing || !words.trim() || this.living) return;
    if (words === this.shown?.text) return;
    this.ask({ live: words });
  }

  /** Another run may follow. */
  lived() {
    this.living = false;
    if (this.typed !== null) this.follow();
  }

  /** Follow again once others are answered. */
  liveLater() {
    this.living = false;
    setTimeout(() => this.typed !== null && this.follow(), 10 * PAUSE);
  }

  /** Open the box with the text. */
  edit() {
    this.typed = this.state.text;
    this.chosen = null;
    this.draw();
    const box = this.top.querySelector("textarea");
    box?.focus();
    box?.setSelectionRange(box.value.length, box.value.length);
  }

  /** Close the box without what was typed. */
  leaveBox() {
    this.typed = null;
    if (this.shown?.text === this.state.text) this.draw();
    else this.ask();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const { key } = event;
    const from = event.composedPath()[0];
    if (from instanceof HTMLElement && from.matches("input, textarea, select, [contenteditable]"))
      return false;
    if (key === "e" || key === "E") this.edit();
    else if (key === "Escape" && this.chosen !== null) {
      this.leaveWord();
      this.draw();
    } else return false;
    return true;
  }

  /** A press elsewhere leaves the word that was chosen, and closes the menus. @param {Event} event */
  left(event) {
    const path = event.composedPath();
    for (const each of this.top.querySelectorAll("details[open]")) {
      if (!path.includes(each)) each.removeAttribute("open");
    }
    const word = this.top.querySelector(".chosen");
    if (this.chosen === null || (word && path.includes(word))) return;
    if (path.some((each) => each instanceof HTMLElement && each.dataset.word === String(this.chosen))) return;
    this.chosen = null;
    this.draw();
  }

  /** The words of the text, and those that a comparison has taken away, in the text in which they are. @returns {{text: string, words: Shown[]}} */
  shownWords() {
    const said = /** @type {Said} */ (this.said);
    const tints = this.reasons?.b.words.text ?? [];
    const hidden = new Set(/** @type {number[]} */ (this.shown?.changes.leave_out ?? []));
    const restored = said.restored ?? [];
    const now = said.words.map((word) => ({
      ...word,
      is: this.isHidden(word, hidden, restored)
        ? /** @type {const} */ ("hidden")
        : /** @type {const} */ ("there"),
      tint: tints.find(({ start }) => start === word.start) ?? null,
    }));
    const gone = said.before ? takenAway(said.before.text, said.before.words, said.text) : [];
    if (!gone.length || !said.before) return { text: said.text, words: now };
    let next = 0;
    const words = said.before.words.map((word) => {
      const isGone = gone.some(({ start }) => start === word.start);
      if (isGone) return { ...word, is: /** @type {const} */ ("gone"), tint: null };
      return { ...now[next++], ...{ start: word.start, end: word.end } };
    });
    return { text: said.before.text, words };
  }

  /** @param {Word} word @param {Set<number>} hidden @param {[number, number][]} restored */
  isHidden({ tokens, gap, start, end }, hidden, restored) {
    if (tokens.length > 0 && tokens.every((token) => hidden.has(token))) return true;
    return gap && restored.some(([begin, last]) => begin <= start && end <= last);
  }

  /** Choose a word, or bring it back. @param {number} number */
  pressWord(number) {
    const { text, words } = this.shownWords();
    const word = words[number];
    if (word.is === "gone") this.takeAway(text, words, number);
    else if (word.is === "hidden") this.hide(word);
    else {
      this.chosen = this.chosen === number ? null : number;
      this.draw();
    }
  }

  /** @param {KeyboardEvent} event @param {number} number */
  keyOnWord(event, number) {
    const { text, words } = this.shownWords();
    if (event.key === "Enter" || event.key === " ") this.pressWord(number);
    else if (event.key === "Delete" && words[number].is === "there") this.takeAway(text, words, number);
    else return false;
    return true;
  }

  /** Take a word away, or bring it back. @param {string} text @param {Shown[]} words @param {number} number */
  takeAway(text, words, number) {
    const gone = words.filter(({ is }, i) => (is === "gone") !== (i === number));
    this.leaveWord();
    if (gone.length) this.act({ do: "text", text: without(text, gone) });
    else this.act({ do: "undo", name: "text" });
  }

  /** Put [MASK] in place of a word, or bring the word back. @param {Shown} word */
  hide({ is, start, end, tokens, gap }) {
    this.leaveWord();
    if (this.said?.leaves_out) this.act({ do: "leave_out", tokens });
    else if (is === "hidden" && gap) this.act({ do: "restore", begin: start, end });
    else this.act({ do: "hide", begin: start, end });
  }

  /** Close the menu of a word; the keyboard is at the word again. */
  leaveWord() {
    if (this.chosen === null) return;
    const word = this.top.querySelector(`[data-word="${this.chosen}"]`);
    if (word instanceof HTMLElement) word.focus();
    this.chosen = null;
  }

  draw() {
    if (!this.told) return;
    render(this.page(), this.top);
    this.top.classList.toggle("projected", this.told.projected);
    const isMap = this.told.page === "map";
    this.views.hidden = !this.said || isMap;
    this.steps.hidden = !this.said || !isMap;
    this.dim();
  }

  /** Dim the views while they are not of what was asked last, or of what is typed where no run follows it. */
  dim() {
    const isOther = this.typed !== null && this.typed !== this.state.text && !this.told?.isLive;
    for (const each of [this.views, this.steps])
      each.classList.toggle("waits", this.progress !== null || this.stopped || isOther);
  }

  page() {
    const { said, header, words } = this;
    const isCompared = Boolean(said?.before);
    return html`
      ${isCompared && said?.before && !said.experiment ? this.sideA(said.before) : nothing}
      <div class="line ${isCompared ? "compared" : ""}">
        ${isCompared && !said?.experiment ? html`<b class="side">B</b>` : nothing}
        <div class="asked ${this.typed === null ? "" : "typing"}">${this.sentence()}</div>
        ${this.said ? html`<div class="answer">${this.answer()}</div>` : nothing}
      </div>
      ${this.wait()}
      ${header?.hint ? html`<p class="hint">${header.hint}</p>` : nothing}
      ${header?.problem ? this.problem(header.problem) : nothing}
      ${header?.left_out ? html`<p class="problem">${header.left_out}</p>` : nothing}
      ${said ? this.gaps(said) : nothing}
      <div class="below">${said ? this.reasonsOf(said) : nothing}<div class="menus">${this.menus()}</div></div>
      ${said?.experiment ? this.experimentOf(said.experiment) : nothing}
      ${said ? this.notes(said) : nothing}
      ${
        this.stopped && !this.progress
          ? html`<p class="hint">${words["work.given_up"]}
        <button @click=${() => this.ask()}>${words["work.again"]}</button></p>`
          : nothing
      }
    `;
  }

  /** The text: as words, or as a box. */
  sentence() {
    const { words, told } = this;
    const target = told?.hasTarget ? this.targetBox() : nothing;
    if (this.typed !== null || !this.said) return html`${this.box()}${target}${this.examples()}`;
    const { text, words: shown } = this.shownWords();
    const press = this.experiment ? null : (/** @type {number} */ number) => this.pressWord(number);
    const tips = { there: words["bench.word"], gone: words["bench.bring"], hidden: words["bench.bring"] };
    return html`
      <div class="text" role="group" aria-label=${words["sentence.label"]} title=${this.reasons?.b.unit ?? nothing}>
        ${wordsOf(text, shown, this.chosen, press, tips)}
        ${this.chosen === null ? nothing : this.wordMenu(shown[this.chosen], text, shown)}
        <button class="edit" title=${words["bench.edit_help"]} @click=${() => this.edit()}>✎ ${words["bench.edit"]}</button>
      </div>
      ${target}${this.examples()}`;
  }

  /** @param {Shown} word @param {string} text @param {Shown[]} words */
  wordMenu(word, text, words) {
    const name = text.slice(word.start, word.end);
    const stand = this.said?.stands_in;
    const number = /** @type {number} */ (this.chosen);
    return html`<span class="chosen" role="group" aria-label=${name}>
      <button @click=${() => this.takeAway(text, words, number)}>${fill(this.words["bench.take_away"], { word: name })}</button>
      ${stand ? html`<button @click=${() => this.hide(word)}>${stand}</button>` : nothing}
    </span>`;
  }

  box() {
    const { words } = this;
    const value = this.typed ?? this.state.text;
    return html`<textarea rows="1" class="box" dir="auto" aria-label=${words["sentence.label"]} maxlength="20000"
      placeholder=${words["sentence.placeholder"]} .value=${value}
      @compositionstart=${() => (this.composing = true)}
      @compositionend=${(/** @type {Event} */ event) => {
        this.composing = false;
        this.type(event);
      }}
      @input=${(/** @type {Event} */ event) => this.type(event)}></textarea>
      <button class="show" title=${words["sentence.show.help"]} @click=${() => this.say(this.typed ?? this.state.text)}>
        ${words["sentence.show"]}</button>`;
  }

  /** @param {Event} event */
  type(event) {
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    this.typed = event.target.value.replace(/\n/g, " ");
    this.dim();
    clearTimeout(this.pausing);
    this.pausing = setTimeout(() => this.follow(), PAUSE);
  }

  /** @param {KeyboardEvent} event */
  keyInBox(event) {
    if (event.isComposing) return false;
    if (event.key === "Enter") this.say(this.typed ?? this.state.text);
    else if (event.key === "Escape" && this.said) this.leaveBox();
    else return false;
    return true;
  }

  targetBox() {
    const { words } = this;
    const choose = (/** @type {Event} */ { target }) => {
      if (!(target instanceof HTMLInputElement)) return;
      Object.assign(this.state, { target: target.value });
      this.ask({ isNew: true });
    };
    return html`<input class="target" dir="auto" maxlength="2000" aria-label=${words["target.label"]}
      placeholder=${words["target.placeholder"]} .value=${this.state.target} @change=${choose}>`;
  }

  examples() {
    const { words, told } = this;
    if (!told?.examples.length) return nothing;
    const each = told.examples.map(
      (text) =>
        html`<button dir="auto" @click=${(/** @type {Event} */ event) => {
          closeMenu(event);
          this.say(text);
        }}>${text}</button>`,
    );
    return menu("examples", words["sentence.examples"], html`<div class="list">${each}</div>`);
  }

  answer() {
    const said = /** @type {Said} */ (this.said);
    if (said.experiment && said.before) {
      const [one, other] = [said.before.answer, said.answer].map((each) => items(each, () => {}));
      return html`<b class="side">A</b>${one}<b class="side">B</b>${other}${this.whySwitch()}`;
    }
    return [...items(said.answer, (item) => this.press(item)), this.whySwitch()];
  }

  /** @param {Item} item */
  press(item) {
    if (item.open) this.openOther(item.open);
    else if (item.act) this.act(item.act);
  }

  /** Show another model the text that is shown, even if it is an example of this one. @param {string} model */
  openOther(model) {
    const { text, target } = this.state;
    const told = /** @type {Told} */ (this.told);
    this.state = { ...this.fresh({}), model, text, target };
    this.told = { ...told, model };
    this.tellModel();
    this.ask({ isNew: true });
  }

  whySwitch() {
    const { words, said } = this;
    if (!said?.explains) return nothing;
    const change = (/** @type {Event} */ { target }) => {
      if (!(target instanceof HTMLInputElement)) return;
      this.state.why = target.checked;
      this.ask({ isNew: true });
    };
    if (this.told?.page === "map") return nothing;
    return html`<label class="switch" title=${words["why.help"]}>
      <input type="checkbox" .checked=${this.wantsWhy} @change=${change}> ${words["why.label"]}</label>
      ${this.reasons?.menus ? this.about(this.reasons.menus) : nothing}`;
  }

  /** @param {Partial<Record<keyof About, Offer>>} menus */
  about(menus) {
    const { words } = this;
    const each = /** @type {[keyof About, Offer][]} */ (Object.entries(menus)).map(([name, offer]) => {
      const chosen = this.state.asks[name];
      const choose = (/** @type {Event} */ { target }) => {
        if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return;
        this.state.asks = { ...(name === "at" ? AS_USUAL : this.state.asks), [name]: target.value };
        this.ask({ isNew: true });
      };
      const known = offer.options.some(([value]) => value === chosen);
      const options = offer.options.map(
        ([value, text]) => html`<option value=${value} ?selected=${value === chosen}>${text}</option>`,
      );
      return html`<label>${offer.label}
        <select @change=${choose}><option value="">${offer.usual}</option>${options}
          ${chosen && !known ? html`<option value=${chosen} selected>${chosen}</option>` : nothing}</select>
        ${offer.typed ? html`<input placeholder=${words["bench.other_token"]} aria-label=${offer.label} @change=${choose}>` : nothing}
      </label>`;
    });
    return menu("about", words["why.about"], html`<div class="list">${each}</div>`, words["why.about.help"]);
  }

  menus() {
    return [this.firstLesson(), this.earlier(), this.looks()];
  }

  /** The way to the first lesson, until one was opened once. */
  firstLesson() {
    const { firstLesson } = this.told ?? {};
    if (!firstLesson || !this.showsHeads || localStorage.getItem(LESSON_SEEN)) return nothing;
    return html`<button class="first" @click=${() => this.send?.setTriggerValue("lesson", true)}>${firstLesson}</button>`;
  }

  /** The runs that were shown so far, if there are several: each can be A or B. */
  earlier() {
    const { words } = this;
    if (LAST.runs.length < 2 || this.experiment) return nothing;
    const each = LAST.runs.map(
      (run) => html`<div class="run">
      <button title=${words["runs.a"]} @click=${(/** @type {Event} */ event) => {
        closeMenu(event);
        const { model, text, target, changes } = run;
        this.state.before = { model, text, target, changes };
        this.ask({ isNew: true });
      }}>A</button>
      <button title=${words["runs.b"]} @click=${(/** @type {Event} */ event) => {
        closeMenu(event);
        this.useAsB(run);
      }}>B</button>
      <span dir="auto">${nameOf(run, words)}</span></div>`,
    );
    return menu("earlier", words["runs.earlier"], html`<div class="list">${each}</div>`);
  }

  /** Show a run as B, by default beside the one that is shown. @param {Run} run */
  useAsB(run) {
    const { model, text, target, changes } = this.state;
    const before = this.state.before ?? { model, text, target, changes };
    this.state = { ...this.state, ...run, before };
    if (run.model !== model) this.openModel(run.model);
    this.ask({ isNew: true });
  }

  /** Other ways to show the tokens and the heads. */
  looks() {
    const { said, words } = this;
    if (!this.showsHeads || (!said?.looks.length && !said?.ablations)) return nothing;
    const on = said.looks.filter(([name]) => this.state.looks.includes(name)).map(([, label]) => label);
    const single = ["mean", "max", "rollout"];
    const toggle = (/** @type {string} */ name) => {
      const { looks } = this.state;
      const others = looks.filter(
        (each) => each !== name && !(single.includes(name) && single.includes(each)),
      );
      this.state.looks = looks.includes(name) ? others : [...others, name];
      this.ask({ isNew: true });
    };
    const ablate = () => {
      this.state.ablates = !this.state.ablates;
      this.ask({ isNew: true });
    };
    const each = said.looks.map(
      ([name, label]) =>
        html`<button aria-pressed=${String(this.state.looks.includes(name))} @click=${() => toggle(name)}>${label}</button>`,
    );
    const runs = said.ablations
      ? html`<label class="switch" title=${words["effects.help"]}>
      <input type="checkbox" .checked=${this.state.ablates} @change=${ablate}> ${said.ablations}</label>`
      : nothing;
    const label = html`${words["looks.label"]}${on.length ? html` <b>${on.join(words["list.comma"])}</b>` : nothing}`;
    return menu(
      "looks",
      label,
      html`<div class="buttons">${each}</div><p class="small">${words["looks.help"]}</p>${runs}`,
    );
  }

  /** @param {NonNullable<Said["before"]>} before */
  sideA(before) {
    const tints = this.reasons?.a?.words.text ?? [];
    const shown = before.words.map((word) => ({
      ...word,
      is: /** @type {const} */ ("there"),
      tint: tints.find(({ start }) => start === word.start) ?? null,
    }));
    const tips = { there: "", gone: "", hidden: "" };
    return html`<div class="line compared"><b class="side">A</b>
      <div class="asked"><div class="text">${wordsOf(before.text, shown, null, null, tips)}</div></div>
      <div class="answer">${items(before.answer, () => {})}
        ${this.reasons?.a ? html`<span class="reason">${marked(this.reasons.a.said)}</span>` : nothing}</div></div>`;
  }

  /** @param {Said} said */
  gaps(said) {
    return said.gaps.map((line) => html`<div class="gap">${items(line, (item) => this.press(item))}</div>`);
  }

  /** @param {Said} said */
  reasonsOf(said) {
    if (this.told?.page === "map") return this.chips(said.chips ?? []);
    if (!said.explains || !this.wantsWhy) return nothing;
    if (said.why_not) return html`<p class="small">${said.why_not}</p>`;
    const target = this.reasons?.b.words.target;
    const line = target
      ? html`<div class="text target-words">${wordsOf(
          said.target,
          target.map((tint) => ({
            ...tint,
            tokens: [],
            gap: false,
            is: /** @type {const} */ ("there"),
            tint,
          })),
          null,
          null,
          { there: "", gone: "", hidden: "" },
        )}</div>`
      : nothing;
    return html`<div class="reasons" aria-live="polite">${line}
      <p class=${this.reasons ? "reason" : "small"}>${this.reasons ? marked(this.reasons.b.said) : (this.reasoning?.said ?? "\u00a0")}</p>
      ${this.reasons?.measured ? html`<p class="small">${marked(this.reasons.measured)}</p>` : nothing}</div>`;
  }

  /** What is changed in the run, each with the way back. @param {{text: string, act: Act}[]} chips */
  chips(chips) {
    return html`<div class="chips">${chips.map(
      ({ text, act }) => html`<button class="chip" @click=${() => this.act(act)}>${text} ×</button>`,
    )}</div>`;
  }

  /** @param {Said} said */
  notes(said) {
    return said.notes.length
      ? html`<div class="notes">${items(said.notes, (item) => this.press(item))}</div>`
      : nothing;
  }

  /** The menu of an experiment, and what it has found. @param {Experiment} made */
  experimentOf({ groups, sliders, switches, again, note, painted, asks, table, there }) {
    return html`<div class="experiment">
        ${asks ? html`<h3 class="question" title=${asks.tip}>${asks.said}</h3>` : nothing}
        ${groups.map(
          ({
            name,
            label,
            tip,
            options,
            chosen,
          }) => html`<div class="group" role="group" aria-label=${label} title=${tip || nothing}>
            <span>${label}</span><div class="segments">${options.map(
              ([value, text]) => html`<button aria-pressed=${String(value === chosen)}
                @click=${() => this.choose({ [name]: value })}>${text}</button>`,
            )}</div></div>`,
        )}
        ${sliders.map(
          ({
            name,
            label,
            tip,
            low,
            high,
            value,
          }) => html`<label class="group" title=${tip}><span>${label}</span>
            <span class="range"><input type="range" min=${low} max=${high} .value=${String(value)}
              @input=${(/** @type {Event} */ { target }) => this.choose({ [name]: /** @type {HTMLInputElement} */ (target).value })}>
            <output>${value}</output></span></label>`,
        )}
        ${switches.map(
          ({
            name,
            label,
            tip,
            on,
          }) => html`<label class="switch" title=${tip}><input type="checkbox" .checked=${on}
            @change=${() => this.choose({ [name]: on ? "" : "1" })}> ${label}</label>`,
        )}
        ${again ? html`<button @click=${() => this.choose({ [again.name]: again.value })}>⚄ ${again.label}</button>` : nothing}
        ${painted ? this.brushes() : nothing}
        ${there ? html`<button title=${this.words["change.compare_there.help"]} @click=${() => this.compareThere(there)}>${this.words["change.compare_there"]}</button>` : nothing}
        ${note ? html`<p class="small">${note}</p>` : nothing}
        ${table ? html`<table class="moves">${table.map((row, at) => html`<tr>${row.map((text) => (at ? html`<td>${text}</td>` : html`<th>${text}</th>`))}</tr>`)}</table>` : nothing}
      </div>`;
  }

  /** Show both runs of an experiment on the Attention page. @param {Run & {before: Run}} runs */
  compareThere(runs) {
    Object.assign(this.state, runs, { filled: [] });
    this.send?.setTriggerValue("page", "attention");
  }

  /** What changes a painted mask as a whole, or leads to the view in which it is painted. */
  brushes() {
    const { words, lens } = this;
    if (lens?.view() !== "masking")
      return html`<button @click=${() => lens?.open("masking")}>✎ ${words["masks.paint_elsewhere"]}</button>`;
    const { queries, keys } = this.shapeOfMask();
    const undo = () => this.choose({ bits: this.painted.pop() ?? "" });
    const whole = (/** @type {(bit: number) => number} */ how) => () =>
      this.change((bits) => bits.forEach((bit, i) => (bits[i] = how(bit))), queries * keys);
    return html`<button ?disabled=${!this.painted.length} @click=${undo}>↶ ${words["masks.undo"]}</button>
      <button title=${words["masks.invert_help"]} @click=${whole((bit) => 1 - bit)}>${words["masks.invert"]}</button>
      <button title=${words["masks.clear_help"]} @click=${whole(() => 1)}>${words["masks.clear"]}</button>
      <p class="small">${words["masks.paint_hint"]}</p>`;
  }

  wait() {
    const { progress, words } = this;
    if (!progress) return nothing;
    return html`<div class="wait" role="status"><progress max="1" value=${progress.share || nothing}></progress>
      <span>${progress.said}</span><button @click=${() => this.stop()}>${words["work.give_up"]}</button></div>`;
  }

  /** @param {string} problem */
  problem(problem) {
    const { words, state } = this;
    const isChanged = Boolean(state.before) || Object.keys(state.changes).length > 0;
    return html`<p class="problem" role="alert">${problem}
      <button @click=${() => this.ask()}>${words["unexpected.again"]}</button>
      ${isChanged ? html`<button @click=${() => this.act({ do: "undo_all" })}>${words["change.undo_all"]}</button>` : nothing}
      ${state.before ? html`<button @click=${() => this.act({ do: "end" })}>${words["change.end"]}</button>` : nothing}</p>`;
  }
}

/**
 * Return sentences, bars and buttons.
 *
 * @param {Item[]} said
 * @param {(item: Item) => void} press
 */
function items(said, press) {
  return said.map((item) => {
    if (item.press !== undefined)
      return html`<button ?disabled=${item.off} title=${item.tip ?? nothing} @click=${() => press(item)}>${item.press}</button>`;
    if (item.bar !== undefined)
      return html`<span class="bar"><span>${item.text}</span><progress max="1" .value=${item.bar}></progress></span>`;
    if (item.parts)
      return html`<span>${item.parts.map(([text, isOther]) => (isOther ? html`<u>${text}</u>` : text))}</span>`;
    const kind = [item.small && "small", item.warns && "warns", item.way].filter(Boolean).join(" ");
    return html`<span class=${kind} title=${item.tip || nothing}>${marked(item.said ?? "")}</span>`;
  });
}

/** Return the page and the model in the address. */
const placeInAddress = () =>
  `${window.location.pathname} ${new URLSearchParams(window.location.search).get("model") ?? ""}`;

/** The kind of attention in the address; "": none. */
const readKind = () => new URLSearchParams(window.location.search).get("kind") ?? "";

/** Return the parts of an address with some names. @param {Record<string, string>} parts @param {string[]} names */
const chosenIn = (parts, names) =>
  Object.fromEntries(names.flatMap((name) => (parts[name] ? [[name, parts[name]]] : [])));

/** Close the menu in which something was pressed. @param {Event} event */
function closeMenu({ target }) {
  if (target instanceof Element) target.closest("details")?.removeAttribute("open");
}

/** Return text, model and number of changes of a run. @param {Run} run @param {Record<string, string>} words */
function nameOf({ text, model, changes }, words) {
  const short = text.length > MOST_NAMED ? `${text.slice(0, MOST_NAMED)} …` : text;
  const sizes = Object.values(changes).map((value) => (Array.isArray(value) ? value.length : 1));
  const count = sizes.reduce((sum, size) => sum + size, 0);
  const said =
    count && fill(words[count === 1 ? "runs.changes.one" : "runs.changes.other"], { count: String(count) });
  return [short, model, said].filter(Boolean).join(" · ");
}

/** Return the object that a part of the address holds; null: it holds none. @param {string | undefined} text */
function object(text) {
  try {
    const found = JSON.parse(text || "null");
    return found && typeof found === "object" && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}
