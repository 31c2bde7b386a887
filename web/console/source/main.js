// The console: who is signed in, and which page is shown. A page's address is its hash: `#/chat/CONVERSATION`.

import "uplot/dist/uPlot.min.css";
import "./styles/base.css";
import "./styles/chat.css";
import "./styles/plan.css";
import "./styles/lists.css";
import { currentSession, signOut } from "./api.js";
import { ChatPage } from "./chat/chat_page.js";
import { fill, h, icon, say, set } from "./dom.js";
import { signInForm } from "./sign_in.js";

const PAGES = {
  chat: { name: "Chat", isFor: ({ scopes }) => scopes.includes("turns:read"), make: async (signedIn) => new ChatPage(signedIn) },
  turns: {
    name: "Turns",
    isFor: ({ scopes }) => scopes.includes("admin"),
    make: async (signedIn) => new (await import("./turns/turns_page.js")).TurnsPage(signedIn),
  },
  prompts: {
    name: "Prompts",
    isFor: ({ scopes }) => scopes.includes("admin"),
    make: async (signedIn) => new (await import("./prompts/prompts_page.js")).PromptsPage(signedIn),
  },
  rollouts: {
    name: "Rollouts",
    isFor: ({ scopes }) => scopes.includes("admin"),
    make: async () => new (await import("./rollouts/rollouts_page.js")).RolloutsPage(),
  },
  replays: {
    name: "Replays",
    isFor: ({ scopes }) => scopes.includes("replays:write"),
    make: async () => new (await import("./replays/replays_page.js")).ReplaysPage(),
  },
  quality: {
    name: "Quality",
    isFor: ({ scopes }) => scopes.includes("admin"),
    make: async () => new (await import("./quality/quality_page.js")).QualityPage(),
  },
  operations: {
    name: "Operations",
    isFor: ({ operator }) => operator,
    make: async (signedIn) => new (await import("./operations/operations_page.js")).OperationsPage(signedIn),
  },
};
const shell = document.getElementById("console");
const main = document.getElementById("main");
const made = new Map();
let session = null;

async function begin() {
  try {
    session = await currentSession();
  } catch (problem) {
    const again = h("button", { type: "button", class: "primary", on: { click: begin } }, "Try again");
    return void fill(main, h("div", { class: "alone" }, h("p", { role: "alert" }, problem.message), again));
  }
  if (session) enter(session);
  else leave();
}

function enter(signedIn) {
  session = signedIn;
  shell.dataset.state = "signed-in";
  const allowed = Object.entries(PAGES).filter(([, { isFor }]) => isFor(signedIn));
  const links = allowed.map(([page, { name }]) => h("a", { href: `#/${page}`, "data-page": page }, icon(page), h("span", {}, name)));
  fill(document.getElementById("pages"), links);
  show();
}

function leave() {
  session = null;
  shell.dataset.state = "signed-out";
  for (const page of made.values()) page.close?.();
  made.clear();
  fill(main, signInForm(enter));
  document.getElementById("key").focus();
}

async function show() {
  if (!session) return;
  const [, name = "", rest = "", query = ""] = location.hash.match(/^#\/([a-z]*)\/?([^?]*)\??(.*)$/) ?? [];
  const page = PAGES[name] ? name : "chat";
  for (const link of document.querySelectorAll("[data-page]")) set(link, "aria-current", link.dataset.page === page && "page");
  if (!made.has(page)) made.set(page, await PAGES[page].make(session));
  const { element } = made.get(page);
  if (main.firstChild !== element) fill(main, element);
  document.title = `${PAGES[page].name} – Turnloom`;
  const { hash } = location;
  try {
    await made.get(page).open(decodeURIComponent(rest) || undefined, query);
  } catch (problem) {
    if (location.hash !== hash) return; // somebody has gone on to another page
    fill(main, h("div", { class: "alone" }, h("p", { role: "alert" }, problem.message), h("a", { class: "button", href: `#/${page}` }, "Back")));
  }
}

document.getElementById("sign-out").addEventListener("click", async () => {
  await signOut().catch((problem) => say(document.getElementById("announcements"), problem.message));
  leave();
});
addEventListener("hashchange", show);
addEventListener("signed-out", () => session && leave());
begin();
