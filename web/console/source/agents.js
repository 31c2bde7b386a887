// The agents that the key may use.

import { call } from "./api.js";
import { h } from "./dom.js";

/** Return the agents: `{name, description, suggestions, …}`. Raises Problem. */
export async function readAgents() {
  return (await call("GET", "v1/agents")).items;
}

/** Offer the agents' names in a select that has only its first option yet. Raises Problem. */
export async function offerAgents(select) {
  if (select.length > 1) return;
  const agents = await readAgents();
  if (select.length === 1) select.append(...agents.map(({ name }) => h("option", { value: name }, name)));
}
