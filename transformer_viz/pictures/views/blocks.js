// Parts of a page that several places are made of: sentences with words in bold, menus.

import { html, nothing } from "./lit.js";

/** @import {TemplateResult} from "./lit.js" */

/** Return a sentence in which what stands between ** is bold. @param {string} said */
export const parts = (said) =>
  said.split("**").map((part, number) => (number % 2 ? html`<b>${part}</b>` : part));

/**
 * Return a menu that opens below its button.
 *
 * @param {string} name Its class.
 * @param {string | TemplateResult} label
 * @param {TemplateResult} body
 * @param {string} [help]
 */
export const menu = (name, label, body, help) =>
  html`<details class="menu ${name}"><summary title=${help ?? nothing}>${label}</summary><div class="body">${body}</div></details>`;
