// The part of the window that is left for the picture.

const LEAST = 220; // pixels: a smaller picture says nothing, and the page scrolls instead
const BELOW = 10; // pixels of the page that show below it; the page may take more, as its property --below

/**
 * The height from the top of an element to the lower end of the window, as if the page were not scrolled; a frame that is as
 * high as what it shows sets another one as the property --room of the page.
 */
export class Stage {
  /** @param {HTMLElement} element @param {() => void} changed Called when the room may have changed. */
  constructor(element, changed) {
    this.element = element;
    this.height = LEAST;
    this.observer = new ResizeObserver(changed);
    this.observer.observe(element);
    this.changed = changed;
    window.addEventListener("resize", changed);
  }

  measure() {
    let scrolled = window.scrollY;
    for (let node = outside(this.element); node; node = outside(node)) scrolled += node.scrollTop;
    const top = this.element.getBoundingClientRect().top + scrolled;
    const style = getComputedStyle(document.documentElement);
    const [below, room] = ["--below", "--room"].map(
      (name) => Number.parseFloat(style.getPropertyValue(name)) || 0,
    );
    this.height = Math.max(LEAST, Math.floor((room || window.innerHeight) - below - top - BELOW));
  }

  destroy() {
    this.observer.disconnect();
    window.removeEventListener("resize", this.changed);
  }
}

/**
 * Return the element around another one, out of a shadow root too; null at the end of the page.
 *
 * @param {Element} element
 * @returns {Element | null}
 */
function outside(element) {
  const parent = element.parentElement;
  if (parent) return parent === document.documentElement ? null : parent;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
