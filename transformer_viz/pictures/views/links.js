// Panels of the same tokens on a page: highlighting and zooming in one does so in all.

/** @import {Panel} from "./panel.js" */

/** @type {Map<string, Set<Panel>>} */
const GROUPS = new Map(); // one for the page: a module is loaded once, whoever imports it

/**
 * Move a panel to a group.
 *
 * @param {Panel} panel
 * @param {string} group
 */
export function join(panel, group) {
  for (const members of GROUPS.values()) members.delete(panel);
  const members = GROUPS.get(group) ?? new Set();
  GROUPS.set(group, members.add(panel));
}

/**
 * Return the other panels of a panel's group that are on the page and have as many rows and columns.
 *
 * @param {Panel} panel
 * @param {string} group
 */
export function linked(panel, group) {
  const members = GROUPS.get(group) ?? new Set();
  for (const member of members) if (!member.root.isConnected) members.delete(member);
  const { rows, columns } = panel.of;
  return [...members].filter(
    (member) => member !== panel && member.of.rows.length === rows.length && member.of.columns.length === columns.length,
  );
}
