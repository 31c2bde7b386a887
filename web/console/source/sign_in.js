// The form where somebody signs in with a key.

import { signIn } from "./api.js";
import { h, say } from "./dom.js";

/** Return the form. `onSignedIn(session)` is called once a key was accepted; the key itself is kept nowhere. */
export function signInForm(onSignedIn) {
  const key = h("input", { id: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false", "aria-describedby": "key-hint" });
  const told = h("p", { class: "problem", role: "alert" });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const hint = h("p", { id: "key-hint", class: "hint" }, "Make one with ", h("code", {}, "turnloom key create"), ". The page shows what the key may see, and nothing else.");

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    say(told, "");
    try {
      const session = await signIn(key.value.trim());
      key.value = "";
      onSignedIn(session);
    } catch (problem) {
      say(told, problem.status ? problem.message : "The server cannot be reached.");
      key.focus();
    }
    button.disabled = false;
  }
  const form = h("form", { class: "sign-in", on: { submit } }, h("h1", {}, "Sign in"), h("label", { for: "key" }, "API key"), key, button, told, hint);
  return h("div", { class: "alone" }, form);
}
