// Write values for people, in the language of their browser.

const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const PART = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", timeZone: "UTC" });

export const STEP_WORDS = {
  pending: "waits for other steps",
  queued: "waits for a worker",
  running: "runs",
  retrying: "failed for now, tried again",
  waiting_approval: "waits for approval",
  succeeded: "succeeded",
  needs_input: "asks the user",
  failed: "failed",
  skipped: "skipped",
  cancelled: "cancelled",
  unknown: "outcome unknown",
  diverged: "no recorded result",
};

export const TURN_WORDS = {
  queued: "in the queue",
  planning: "planning",
  running: "working",
  waiting_approval: "waits for approval",
  responding: "answering",
  succeeded: "answered",
  failed: "failed",
  cancelled: "cancelled",
  superseded: "interrupted",
};

/** Write a length of time: `8 ms`, `1.24 s`, `3 min 5 s`. */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

export function number(value) {
  return NUMBER.format(value);
}

/** Write a share of a whole: `12.5%`. */
export function share(value) {
  return PART.format(value);
}

export function timeOfDay(moment) {
  return moment === null || moment === undefined ? "–" : TIME.format(new Date(moment));
}

export function moment(at) {
  return at === null || at === undefined ? "–" : MOMENT.format(new Date(at));
}

export function day(date) {
  return DAY.format(new Date(`${date}T00:00:00Z`));
}

/** Write a value of any type in one line. */
export function plain(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return value.map(plain).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Cut a text that is too long for its place. */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Return an id that nobody else has. `crypto.randomUUID` exists on HTTPS only. */
export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
