// Download a file made in the browser.

/**
 * Whether saved pictures have their title above them, and, on a dark page, the colours of a light one: chosen in the menu
 * "Export", both hold on all pages.
 */
export const SAVED = { titled: true, light: false };

/**
 * Download a Blob under a name.
 *
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(blob),
    download: name,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
