// What Python packed (payload.py), as typed arrays over the same bytes: nothing is copied, nothing is JSON but the header.

const KINDS = { float16: Uint16Array, float32: Float32Array, uint8: Uint8Array };

/** Half-precision number by its 16 bits. Bits of positive numbers are in the order of the numbers. */
export const HALF = new Float32Array(65536);
for (let bits = 0; bits < 65536; bits++) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  let size = fraction * 2 ** -24;
  if (exponent === 31) size = fraction ? NaN : Infinity;
  else if (exponent) size = (1 + fraction / 1024) * 2 ** (exponent - 15);
  HALF[bits] = bits & 0x8000 ? -size : size;
}

/** Return the bits of the smallest half-precision number that is at least a number from 0 to 1. */
export function halfBits(number) {
  let [low, high] = [0, 0x3c00]; // 0 and 1
  while (low < high) {
    const middle = (low + high) >> 1;
    if (HALF[middle] >= number) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Return {header, array}: the header, and what returns an array that the header describes. */
export function unpack(bytes) {
  const aligned = bytes.byteOffset % 8 ? bytes.slice() : bytes;
  const length = new DataView(aligned.buffer, aligned.byteOffset, 8).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(aligned.subarray(8, 8 + length)));
  const begin = aligned.byteOffset + 8 + length;
  const array = ({ dtype, shape, at }) =>
    new KINDS[dtype](aligned.buffer, begin + at, shape.reduce((product, size) => product * size, 1));
  return { header, array };
}

/** Return the header and one object for each kind of attention: sizes, tokens, and a reader of one head. */
export function parse(bytes) {
  const { header, array } = unpack(bytes);
  const attentions = Object.fromEntries(
    header.attentions.map((facts) => [facts.kind, new Attention(facts, array)]),
  );
  return { ...header, attentions };
}

class Attention {
  constructor(facts, array) {
    Object.assign(this, facts);
    for (const [name, where] of Object.entries(facts.arrays)) this[name] = array(where);
    this.cells = this.queries * this.keys;
  }

  /** Half-precision bits of one head's weights: Uint16Array (query * key). */
  bits(layer, head) {
    const at = (layer * this.heads + head) * this.cells;
    return this.weights.subarray(at, at + this.cells);
  }

  /** One of the vectors of that name, Float32Array; null if the trace has none. */
  vector(name, number) {
    const size = this.sizes[name];
    return this[name] ? this[name].subarray(number * size, (number + 1) * size) : null;
  }

  /** Whether a query may attend to a key. */
  allowed(head, query, key) {
    const at = this.maskHeads > 1 ? head * this.cells : 0;
    return this.mask[at + query * this.keys + key] > 0;
  }

  /** Return one head as numbers: {data: Float32Array (query * key), largest, signed}. */
  field(layer, head, value) {
    const found = this.cached?.[value];
    if (found && found.layer === layer && found.head === head) return found;
    const at = (layer * this.heads + head) * this.cells;
    const source = value === "scores" || value === "masked" ? this.scores : this.weights;
    const data = new Float32Array(this.cells);
    let largest = 0;
    for (let cell = 0; cell < this.cells; cell++) {
      let number = HALF[source[at + cell]];
      if (value === "norms") number *= HALF[this.norms[(layer * this.heads + head) * this.keys + (cell % this.keys)]];
      if (value !== "scores" && !this.allowed(head, (cell / this.keys) | 0, cell % this.keys)) number = NaN;
      data[cell] = number;
      if (Math.abs(number) > largest) largest = Math.abs(number);
    }
    const field = { layer, head, data, largest, signed: source === this.scores };
    this.cached = { ...this.cached, [value]: field };
    return field;
  }
}
