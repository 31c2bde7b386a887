// A plan that stands still, such as one side of a comparison: steps from top to bottom, each below those that it needs.

import { h, svg } from "../dom.js";
import { cut } from "../format.js";
import { NODE, layOut, pathOf } from "./layout.js";

/** Draw steps: `{id, tool, needs, status, mark}`. `signs`: mark -> what stands before the step's name. */
export function planDrawing(steps, label, signs) {
  const { nodes, edges, width, height } = layOut(steps, true);
  const lines = edges.map(({ points }) => svg("path", { class: "edge", d: pathOf(points, true) }));
  const boxes = steps.map((step) => box(step, nodes.get(step.id), signs[step.mark] ?? ""));
  const told = steps.map((step) => `${signs[step.mark] ?? ""}${step.id}: ${step.tool}, ${step.status}${step.needs.length > 0 ? `, after ${step.needs.join(", ")}` : ""}`);
  const drawing = svg("svg", { class: "drawing", role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `${label}. ${told.join("; ")}` }, ...lines, ...boxes);
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": label }, drawing);
}

function box({ id, tool, status, mark }, at, sign) {
  const place = `translate(${at.x - NODE.width / 2} ${at.y - NODE.height / 2})`;
  const name = svg("text", { class: "name", x: 12, y: 20 }, cut(`${sign}${id}`, 20), status === "succeeded" ? "" : ` (${status})`);
  return svg("g", { class: `node ${mark.replace("_", "-")}`, transform: place }, svg("rect", { width: NODE.width, height: NODE.height, rx: 10 }), name, svg("text", { class: "tool", x: 12, y: 36 }, cut(tool || "not recorded", 24)));
}
