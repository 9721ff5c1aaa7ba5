// The data routes of the app: questions, and what was answered before, which costs nothing to be shown again.

/** @import {Act} from "./payload.js" */

/**
 * A run, as the address and the server know it.
 *
 * @typedef {object} Run
 * @property {string} model
 * @property {string} text
 * @property {string} target What the decoder of an encoder-decoder reads; "": the model writes it.
 * @property {Record<string, unknown>} changes
 * @property {Record<string, unknown> | null} before The run that it is compared with; null: none.
 * @property {[begin: number, end: number, former: string][]} filled Parts in whose place something else stood before.
 */

/**
 * A question to the server (ui/workbench/asked.py).
 *
 * @typedef {Run & {stamp: string, looks: string[], ablates: boolean, language: string, lesson: string, revealed: boolean,
 *   wants?: "why" | "map", about?: Record<string, string>, experiment?: Record<string, string>}} Question
 */

/**
 * The last line of an answer.
 *
 * @typedef {object} Header
 * @property {Run} state What was asked, after the act.
 * @property {string} [key] Of the answer; none: there is none.
 * @property {string} [stamp] Of the model; another than that of the page: it was written anew meanwhile.
 * @property {string} [hint] What to do instead, or what has happened meanwhile.
 * @property {string} [problem] Why there is no answer.
 * @property {string} [left_out] What was left out, as it breaks the page.
 * @property {string[]} [looks] The looks that are left then.
 * @property {boolean} [ablates] Whether heads are still ablated then.
 * @property {boolean} [busy] Whether others are to be answered first.
 * @property {number} bytes
 */

/** @typedef {{header: Header, bytes: Uint8Array}} Answer */

/** @typedef {{said: string, share: number}} Progress */

/**
 * A token that was written, and the likeliest ones in its place with their log probabilities.
 *
 * @typedef {{token: number, chip: {word: string, share: number, rank: string}, likeliest: [word: string, log: number][]}} WrittenToken
 */

const MOST_BYTES = 96 * 2 ** 20; // of the answers that are kept
const NEWLINE = 10;

/** The server does not answer this page: its session has ended, or it asked too much. */
export class RefusedError extends Error {}

class Routes {
  constructor() {
    this.token = "";
    /** @type {Map<string, Answer>} */
    this.answers = new Map();
    this.bytes = 0;
  }

  /**
   * @param {string} path
   * @param {unknown} [body] Sent as JSON; none: the route is only read.
   * @param {AbortSignal} [signal]
   */
  async fetched(path, body, signal) {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const address = new URL(`data/${path}`, document.baseURI);
    const response = await fetch(address, { ...sent, headers: { "X-Token": this.token }, signal });
    if (!response.ok) throw new RefusedError(String(response.status));
    return response;
  }

  /** Return what was answered before; null: it was not asked, or is forgotten. @param {Question} question */
  known(question) {
    const name = JSON.stringify(question);
    const found = this.answers.get(name);
    if (!found) return null;
    this.answers.delete(name); // the last one used is forgotten last
    this.answers.set(name, found);
    return found;
  }

  /** @param {Question} question @param {Answer} answer */
  keep(question, answer) {
    const name = JSON.stringify(question);
    this.bytes += answer.bytes.length - (this.answers.get(name)?.bytes.length ?? 0);
    this.answers.set(name, answer);
    for (const [oldest, { bytes }] of this.answers) {
      if (this.bytes <= MOST_BYTES || oldest === name) break;
      this.answers.delete(oldest);
      this.bytes -= bytes.length;
    }
  }

  /**
   * Ask; the answer is kept under what was asked, after the act.
   *
   * @param {Question} question
   * @param {{act?: Act, live?: boolean, tell?: (progress: Progress) => void, signal?: AbortSignal}} [how]
   * @returns {Promise<Answer>}
   * @throws {RefusedError} If the server does not answer this page.
   */
  async ask(question, { act, live, tell, signal } = {}) {
    const response = await this.fetched("ask", { ...question, act, live }, signal);
    const answer = await read(/** @type {ReadableStream<Uint8Array>} */ (response.body), tell);
    const { state, key, hint, left_out: leftOut } = answer.header;
    if (key && !hint && !leftOut) this.keep(act ? { ...question, ...state } : question, answer);
    return answer;
  }

  /** Return the vectors of a layer. @param {string} key @param {string} kind @param {number} layer */
  async vectors(key, kind, layer) {
    const response = await this.fetched(`vectors/${key}/${kind}/${layer}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  /**
   * Return a file with all that a run shows, and its name.
   *
   * @param {string} key
   * @param {string} kind
   * @param {unknown} around
   * @returns {Promise<[Blob, string]>}
   */
  async file(key, kind, around) {
    const response = await this.fetched(`save/${key}/${kind}`, around);
    const named = /filename\*=utf-8''(.*)/.exec(response.headers.get("content-disposition") ?? "");
    return [await response.blob(), decodeURIComponent(named?.[1] ?? kind)];
  }

  /**
   * Have a text written on.
   *
   * @param {{model: string, text: string, written: string, settings: string}} asked
   * @param {(line: WrittenToken) => void} tell
   * @param {AbortSignal} signal
   */
  async write(asked, tell, signal) {
    const response = await this.fetched("write", asked, signal);
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    let left = new Uint8Array(0);
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      left = joined([left, part.value]);
      for (let end = left.indexOf(NEWLINE); end >= 0; end = left.indexOf(NEWLINE)) {
        tell(JSON.parse(new TextDecoder().decode(left.subarray(0, end))));
        left = left.subarray(end + 1);
      }
    }
  }

  /** Tell the server which run is shown, for its other pages. @param {Record<string, string>} run */
  async show(run) {
    await this.fetched("shown", run).catch(() => {}); // whatever asks next says so
  }
}

/** The routes of this page's server. */
export const ROUTES = new Routes();

/**
 * Return an answer from its stream: lines of JSON, then bytes.
 *
 * @param {ReadableStream<Uint8Array>} stream
 * @param {(progress: Progress) => void} [tell]
 * @returns {Promise<Answer>}
 */
async function read(stream, tell) {
  const reader = stream.getReader();
  let left = new Uint8Array(0);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new RefusedError("The answer ends too early.");
    left = joined([left, value]);
    for (let end = left.indexOf(NEWLINE); end >= 0; end = left.indexOf(NEWLINE)) {
      const line = JSON.parse(new TextDecoder().decode(left.subarray(0, end)));
      left = left.subarray(end + 1);
      if (line.refused) throw new RefusedError(line.refused);
      if (line.bytes === undefined) tell?.(line);
      else return { header: line, bytes: await rest(reader, left) };
    }
  }
}

/** @param {ReadableStreamDefaultReader<Uint8Array>} reader @param {Uint8Array} begin */
async function rest(reader, begin) {
  const parts = [begin];
  for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
  return joined(parts);
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
