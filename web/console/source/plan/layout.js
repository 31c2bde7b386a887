// Where the steps of a plan stand: dagre's layered layout.

import { Graph, layout } from "@dagrejs/dagre";

export const NODE = { width: 168, height: 46 };
const LARGE = 60;

/**
 * Lay steps out: `{nodes: Map(id -> {x, y}), edges: [{from, to, points}], width, height}`.
 *
 * `steps`: `{id, needs}`. `isVertical`: from top to bottom rather than from left to right. Pure.
 */
export function layOut(steps, isVertical) {
  const graph = new Graph();
  const isLarge = steps.length > LARGE;
  graph.setGraph({
    // Each edge leads from a step back to its need: so steps stand as early as they can start, not as late as they may.
    rankdir: isVertical ? "BT" : "RL",
    nodesep: isLarge ? 10 : 18,
    ranksep: isLarge ? 40 : 52,
    marginx: 12,
    marginy: 12,
    // Network simplex gives shorter edges, and takes seconds for hundreds of steps.
    ranker: isLarge ? "longest-path" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(steps.map((step) => step.id));
  for (const { id } of steps) graph.setNode(id, { ...NODE });
  for (const { id, needs } of steps) for (const need of needs) if (known.has(need)) graph.setEdge(id, need);
  if (steps.length > 0) layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    nodes: new Map(steps.map(({ id }) => [id, graph.node(id)])),
    edges: graph.edges().map((edge) => ({ from: edge.w, to: edge.v, points: pointsOf(graph, edge, isVertical) })),
    width,
    height,
  };
}

/** Return an edge's points, from the middle of one node's far side to that of the other's near side. */
function pointsOf(graph, edge, isVertical) {
  const [from, to] = [graph.node(edge.w), graph.node(edge.v)];
  const [x, y] = isVertical ? [0, NODE.height / 2] : [NODE.width / 2, 0];
  const between = graph.edge(edge).points.slice(1, -1).reverse();
  const bends = between.length > 1 ? between : [];
  return [{ x: from.x + x, y: from.y + y }, ...bends, { x: to.x - x, y: to.y - y }];
}

/** Write the points of an edge as the path of a smooth line. */
export function pathOf(points, isVertical) {
  const [first, ...others] = points;
  let [from, path] = [first, `M${place(first)}`];
  for (const to of others) {
    const middle = isVertical ? (from.y + to.y) / 2 : (from.x + to.x) / 2;
    const [out, into] = isVertical ? [{ x: from.x, y: middle }, { x: to.x, y: middle }] : [{ x: middle, y: from.y }, { x: middle, y: to.y }];
    path += `C${place(out)} ${place(into)} ${place(to)}`;
    from = to;
  }
  return path;
}

function place({ x, y }) {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}
