// Call the API with the cookie of the session. Scripts cannot read that cookie; what changes something also sends the
// session's CSRF token.

const ROOT = new URL(".", location.href);
let csrf = null;

/** An answer of the API that is not what was asked for: a problem document. */
export class Problem extends Error {
  constructor(status, told, retryAfterS) {
    super(told?.detail ?? told?.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = told?.code;
    this.errors = told?.errors ?? [];
    this.retryAfterS = retryAfterS;
  }
}

/** Return the JSON of an answer, null if it has none. Raises Problem, and TypeError where there is no network. */
export async function call(method, path, body, signal) {
  const answer = await open(method, path, { body, signal });
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

/** Return an answer whose body is still to be read. Raises as `call` does. */
export async function open(method, path, { body, signal, headers = {} } = {}) {
  const sent = { Accept: "application/json, text/event-stream", ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) sent["X-CSRF-Token"] = csrf;
  const written = body === undefined ? undefined : JSON.stringify(body);
  const options = { method, headers: sent, body: written, signal, credentials: "same-origin", cache: "no-store" };
  const answer = await fetch(new URL(path, ROOT), options);
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

/** Return the session; null if nobody is signed in. A page of the embedded stack signs in by itself. */
export async function currentSession() {
  try {
    return remembered(await call("GET", "v1/console/session").catch((problem) => unlessSignedOut(problem, () => signIn())));
  } catch (problem) {
    return unlessSignedOut(problem, () => null);
  }
}

/** Sign in with a key, which is not kept here; without one, as the embedded stack allows on its own machine. */
export async function signIn(key) {
  return remembered(await call("POST", "v1/console/session", key ? { key } : {}));
}

/** End the session. */
export async function signOut() {
  await call("DELETE", "v1/console/session");
  csrf = null;
}

/** Return whether the same request may be answered later: what is not allowed, or is not there, stays so. */
export function mayPass(problem) {
  return ![401, 403, 404].includes(problem.status);
}

/** Write a path of which parts come from outside: `` path`v1/turns/${id}` ``. */
export function path(parts, ...values) {
  return parts.reduce((whole, part, place) => whole + encodeURIComponent(values[place - 1]) + part);
}

function unlessSignedOut(problem, otherwise) {
  if (problem.status === 401) return otherwise();
  throw problem;
}

function remembered(session) {
  csrf = session.csrf;
  return session;
}

async function problemOf(answer) {
  const told = await answer.json().catch(() => null);
  const problem = new Problem(answer.status, told, Number(answer.headers.get("Retry-After")) || null);
  if (answer.status === 401) dispatchEvent(new CustomEvent("signed-out"));
  return problem;
}
