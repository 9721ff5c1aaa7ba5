// Keys that are pressed on a view.

/**
 * Listen to the keys of an element. Those pressed with Ctrl, Alt or Cmd belong to the browser and the system; those that
 * another listener has used, and those pressed on other controls within the element, are not for this one.
 *
 * @param {HTMLElement} element
 * @param {string} own Selector of the controls within it whose keys these are; "": only the element itself.
 * @param {(event: KeyboardEvent, pressedOn: HTMLElement) => unknown} act Returns whether it has used the key.
 * @param {string[]} withCtrl Keys that are for this one with Ctrl, too.
 */
export function onKey(element, own, act, withCtrl = []) {
  element.addEventListener("keydown", (event) => {
    const isOthers = event.altKey || event.metaKey || (event.ctrlKey && !withCtrl.includes(event.key));
    if (event.defaultPrevented || isOthers) return;
    const { target } = event;
    if (!(target instanceof HTMLElement)) return;
    const pressedOn = own ? target.closest(own) : target === element && element;
    if (pressedOn instanceof HTMLElement && act(event, pressedOn)) event.preventDefault();
  });
}
