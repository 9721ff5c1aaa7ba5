// What is chosen, in the page's address. Streamlit writes the address anew from what its server knows of it, so the
// choice is also kept here, for as long as the page is open, and written again.

let choice = null;

/** Return what was chosen last while the page was open; null: nothing yet. */
export function kept() {
  return choice;
}

/** Keep a choice, or a part of one. */
export function keep(part) {
  choice = { ...(choice ?? read()), ...part };
}

/** Return what is to be chosen first: what was chosen last while the page was open, else what the address says. */
export function start() {
  return choice ?? read();
}

/** Keep a choice and write it to the address. */
export function remember(part) {
  keep(part);
  write();
}

/** Write the choice again where something else wrote the address. */
export function write() {
  if (!choice) return;
  const { kind, layer, head, view } = choice;
  const address = new URL(window.location.href);
  for (const [name, value] of Object.entries({ kind, layer: layer + 1, head: head + 1, view })) {
    if (value) address.searchParams.set(name, value);
  }
  if (address.href !== window.location.href) window.history.replaceState(window.history.state, "", address);
}

function read() {
  const address = new URLSearchParams(window.location.search);
  const number = (name) => Math.max(0, (Number.parseInt(address.get(name), 10) || 1) - 1);
  const view = address.get("view");
  const found = { kind: address.get("kind"), layer: number("layer"), head: number("head") };
  return ["grid", "matrix", "lines", "steps"].includes(view) ? { ...found, view } : found;
}
