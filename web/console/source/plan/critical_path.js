// The longest way through a plan by the steps' own times: what the turn could not be faster than. Pure.

/** Return the ids on the critical path. `steps`: `{id, needs, ms}`; steps that have not run count as a moment each. */
export function criticalPath(steps) {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const ends = new Map();
  let last = null;
  for (const step of inOrder(byId)) {
    const before = step.needs.filter((need) => ends.has(need)).sort((a, b) => ends.get(b).ms - ends.get(a).ms)[0];
    const ms = (before === undefined ? 0 : ends.get(before).ms) + Math.max(step.ms ?? 0, 0.001);
    ends.set(step.id, { ms, before });
    if (last === null || ms > ends.get(last).ms) last = step.id;
  }
  const path = new Set();
  for (let id = last; id !== null && id !== undefined; id = ends.get(id).before) path.add(id);
  return path;
}

/** Yield steps so that each comes after those that it needs. */
function* inOrder(byId) {
  const seen = new Set();
  for (const root of byId.keys()) {
    const stack = [[root, false]];
    while (stack.length > 0) {
      const [id, isReady] = stack.pop();
      if (isReady) yield byId.get(id);
      else if (!seen.has(id) && byId.has(id)) {
        seen.add(id);
        stack.push([id, true], ...byId.get(id).needs.map((need) => [need, false]));
      }
    }
  }
}
