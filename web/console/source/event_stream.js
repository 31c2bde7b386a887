// Follow a turn's server-sent events over `fetch`, through dropped networks, with none lost and none doubled.

import { open, path } from "./api.js";

const SILENCE_MS = 40_000; // the server sends a comment every 15 s
const PAUSES_MS = [300, 1_000, 2_000, 4_000, 8_000];
const GONE = new Set([400, 401, 403, 404]);

/** Return the complete events of a text and what is left of it: `{events: [{id, type, data}], rest}`. */
export function readEvents(text) {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  return { events: blocks.map(readBlock).filter((event) => event !== null), rest };
}

function readBlock(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
  }
  return fields.data === undefined ? null : { id: fields.id, type: fields.event, data: JSON.parse(fields.data) };
}

/**
 * Hand on a turn's events, in lists as they arrive, until the final one or until `signal` aborts.
 *
 * `onState` gets "live", "waiting" while the network is away, and "ended"; `lastId` is the event to continue after.
 */
export async function follow(turnId, { lastId, onEvents, onState, signal }) {
  const place = { id: lastId, isFinal: false };
  for (let failures = 0; ; failures += 1) {
    const before = place.id;
    let pauseMs = PAUSES_MS[0];
    try {
      await read(turnId, place, onEvents, onState, signal);
    } catch (problem) {
      if (GONE.has(problem.status)) throw problem;
      pauseMs = (problem.retryAfterS ?? 0) * 1_000;
    }
    if (signal.aborted) return;
    if (place.isFinal) break;
    if (place.id !== before) failures = 0;
    onState("waiting");
    await pause(Math.max(pauseMs, PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]), signal);
  }
  onState("ended");
}

async function read(turnId, place, onEvents, onState, signal) {
  const dropped = new AbortController();
  const drop = () => dropped.abort();
  const ends = [[signal, "abort"], [window, "offline"]];
  for (const [target, kind] of ends) target.addEventListener(kind, drop);
  let watchdog = setTimeout(drop, SILENCE_MS);
  try {
    const headers = place.id ? { "Last-Event-ID": place.id } : {};
    const answer = await open("GET", path`v1/turns/${turnId}/events`, { headers, signal: dropped.signal });
    if (answer.status === 204) return void (place.isFinal = true);
    onState("live");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = "", part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(watchdog);
      watchdog = setTimeout(drop, SILENCE_MS);
      const { events, rest } = readEvents(text + part.value);
      text = rest;
      if (events.length > 0) note(place, events, onEvents);
    }
  } finally {
    clearTimeout(watchdog);
    for (const [target, kind] of ends) target.removeEventListener(kind, drop);
  }
}

function note(place, events, onEvents) {
  const last = events.at(-1);
  place.id = last.id;
  place.isFinal = /^turn\.(succeeded|failed|cancelled|superseded)$/.test(last.type);
  onEvents(events);
}

/** Wait, but no longer than until the network is back. */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
