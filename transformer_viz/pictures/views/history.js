// The history of the browser: one entry for a page as it opens, and one for each choice on it.

import { forget, withSelection } from "./address.js";

const VIEWS = ".st-key-workbench"; // those that have their selection in the address
const LINKS = ".stPageLink a:not(.st-key-page-shown *), [class*=st-key-leave-] button"; // to other pages

let leaving = false; // a link to another page was pressed, which is not there yet
let untouched = false; // nothing was pressed since the page was opened

const { history } = window;
const push = history.pushState.bind(history);

/**
 * Streamlit makes an entry for each change of the address. What a page adds to it while it opens belongs to its own
 * entry, and is no entry of the page before: otherwise the first step back would lead to neither as it was.
 *
 * @type {History["pushState"]}
 */
history.pushState = (state, unused, url) => {
  const asked = new URL(url ?? "", window.location.href);
  const stays = asked.pathname === window.location.pathname;
  if (stays && leaving) return; // it stands in the address of the next page, too
  const address = stays && document.querySelector(VIEWS) ? withSelection(asked) : asked; // the server does not know it
  if (stays && (untouched || isThere(address))) history.replaceState(state, unused, address);
  else push(state, unused, address);
  if (!stays) [leaving, untouched] = [false, true];
};

/**
 * Return whether an address differs from that of the page in the order of its parts at most: a view has written its
 * selection before the server does.
 *
 * @param {URL} address
 */
function isThere(address) {
  const [asked, here] = [address.search, window.location.search].map((search) => {
    const parts = new URLSearchParams(search);
    parts.sort();
    return parts.toString();
  });
  return asked === here;
}

for (const event of ["pointerdown", "keydown"]) {
  window.addEventListener(event, () => ([leaving, untouched] = [false, false]), true);
}

window.addEventListener(
  "click",
  ({ target }) => (leaving = target instanceof Element && target.closest(LINKS) !== null),
  true,
);

window.addEventListener("popstate", () => {
  [leaving, untouched] = [false, true];
  forget();
});

export default function () {}
