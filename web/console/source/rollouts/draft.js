// A text that somebody has written in the editor of prompts and is about to roll out.

let draft = null;

/** Keep a text until the form that starts rollouts takes it. */
export function keepDraft(name, text) {
  draft = { name, text };
}

/** Return the kept text, once; null if there is none. */
export function takeDraft() {
  const taken = draft;
  draft = null;
  return taken;
}
