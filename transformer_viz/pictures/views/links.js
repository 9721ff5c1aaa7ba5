// Panels of the same tokens on a page: what is pointed at and zoomed into in one is so in all.

const GROUPS = new Map(); // name -> panels; a module is loaded once in a page, whoever imports it

/** Count a panel among those of a group; in no other. */
export function join(panel, group) {
  for (const members of GROUPS.values()) members.delete(panel);
  if (!GROUPS.has(group)) GROUPS.set(group, new Set());
  GROUPS.get(group).add(panel);
}

/** Return the other panels of a group that are on the page and have as many rows and columns. */
export function linked(panel, group) {
  const members = GROUPS.get(group);
  for (const member of members) if (!member.root.isConnected) members.delete(member);
  const { rows, columns } = panel.scene();
  const fits = (other) => other.rows.length === rows.length && other.columns.length === columns.length;
  return [...members].filter((member) => member !== panel && fits(member.scene()));
}
