// Download a file made in the browser.

/** Whether saved pictures have their title above them: chosen in the menu "Export", it holds on all pages. */
export const SAVED = { titled: true };

/**
 * Download a Blob under a name.
 *
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
