// A question that must be answered before something is done for good.

import { h, say } from "./dom.js";

/**
 * Ask, and do it: true once it is done, false if somebody has thought better of it.
 *
 * `act(given)` gets what was entered, by the names of its fields; what it raises is shown, and can be tried again.
 */
export function confirmed({ title, content, words, act }) {
  return new Promise((resolve) => {
    let isDone = false;
    const problem = h("p", { class: "problem", role: "alert" });
    const go = h("button", { type: "submit", class: "primary" }, words);
    const back = h("button", { type: "button", on: { click: () => box.close() } }, "Cancel");
    const form = h("form", { on: { submit } }, h("h2", {}, title), ...content, problem, h("div", { class: "row end" }, back, go));
    const box = h("dialog", { class: "ask", "aria-label": title, on: { close } }, form);

    async function submit(event) {
      event.preventDefault();
      go.disabled = true;
      say(problem, "");
      try {
        await act(Object.fromEntries(new FormData(form)));
        isDone = true;
        box.close();
      } catch (fault) {
        say(problem, fault.message);
        go.disabled = false;
      }
    }
    function close() {
      box.remove();
      resolve(isDone);
    }
    document.body.append(box);
    box.showModal();
  });
}
