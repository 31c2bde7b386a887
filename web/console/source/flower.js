// Where the deployment says that Flower is, the names of workers lead to their pages there.

import { h, icon } from "./dom.js";

/** Return the address of a worker's page; null if there is none. `worker`: its name, perhaps with `/PID`. */
export function workerAddress(worker, flowerUrl) {
  return flowerUrl && worker ? `${flowerUrl}/worker/${encodeURIComponent(worker.split("/")[0])}` : null;
}

/** Return a link to Flower; null if nobody knows where it is. */
export function flowerLink(flowerUrl) {
  return flowerUrl && h("a", { class: "button quiet", href: flowerUrl, target: "_blank", rel: "noopener" }, icon("out"), "Flower");
}
