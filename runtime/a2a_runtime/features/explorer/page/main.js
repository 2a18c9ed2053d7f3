/* The explorer: one page to see, try and debug A2A agents.

   Data      state     {token, agents, agent, info (the card and what is known of it), signIns, runs, run, exchanges}; in memory only
             Run       a message that was sent: {request, phase, events: [{at, cursor, event}], task}; the task is the fold of the events
             Exchange  a request to the agent and its answer, as the server side recorded it
   Rules     all text enters the page through `dom.el`, as text nodes after `text.visible`; links are http and https; markup is never parsed
             views draw from the state and speak by topics: agent, tab, try, sent, run, runs, event, exchanges, signIns, continue, open-task
             lists are virtual, large values come in pieces

   text ◄ dom ◄ virtual_list, json_tree, markdown, errors          what every view is made of
   state ◄ api ◄ runs ► task_model                                 what is known, and how it is asked for
   schema ◄ scalar_fields ◄ schema_form ◄ composer ◄ question      forms; schema_docs shows schemas for readers
   parts ◄ task_panel, timeline                                    tasks, live and as they were
   card_view, try_view, snippets, watch_view, tasks_view, task_detail, wire_view, sign_in_view ◄ main

   `build_page.py` beside this folder joins the modules, each as a function of its own, into one HTML file: see there for what a module may say.
*/

import { listAgents, readAgent, takeToken } from "./api.js";
import { cardView } from "./card_view.js";
import { button, el, icon, replace } from "./dom.js";
import { showError } from "./errors.js";
import { signInView } from "./sign_in_view.js";
import { emit, forgetAgent, on, state } from "./state.js";
import { tasksView } from "./tasks_view.js";
import { initials } from "./text.js";
import { tryView } from "./try_view.js";
import { watchView } from "./watch_view.js";
import { wireView } from "./wire_view.js";

const TABS = [
  ["card", "Card", "card", cardView],
  ["try", "Try", "try", tryView],
  ["watch", "Watch", "watch", watchView],
  ["tasks", "Tasks", "tasks", tasksView],
  ["wire", "Wire", "wire", wireView],
  ["sign-in", "Sign in", "key", signInView],
];
const WIDE = matchMedia("(min-width: 1180px)");
const app = document.getElementById("app");

async function start() {
  takeToken();
  try {
    const { mode, agents } = await listAgents();
    Object.assign(state, { mode, agents, agent: agents.some((each) => each.id === state.agent) ? state.agent : agents[0]?.id ?? null });
  } catch (error) {
    return stop("The explorer cannot show anything", error);
  }
  if (state.agent === null) return replace(app, el("main", { class: "stop panel", id: "content" }, el("h1", {}, "No agents here"), el("p", {}, "This app has no agent that you may see.")));
  return openAgent();
}

async function openAgent() {
  forgetAgent();
  try {
    state.info = await readAgent();
  } catch (error) {
    return stop("The agent cannot be shown", error);
  }
  return drawApp();
}

function stop(title, error) {
  replace(app, el("main", { class: "stop panel", id: "content" }, el("h1", {}, title), showError(error), el("div", { class: "bar" }, button("Try again", start, { sign: "again" }))));
}

function drawApp() {
  const { card } = state.info;
  const name = card?.name || state.agents.find((each) => each.id === state.agent)?.name || "Agent";
  document.title = `${name.slice(0, 60)} · A2A explorer`;
  const tabs = card ? TABS : TABS.filter(([id]) => id === "card" || id === "wire");
  const panels = new Map(tabs.map(([id, label, , make]) => [id, el("div", { id: `view-${id}`, class: "view", role: "tabpanel", "aria-label": label }, make())]));
  const marks = new Map(tabs.map(([id, label, sign]) => [id, tab(id, label, sign)]));
  const main = el("main", { id: "content", tabindex: "-1" }, [...panels.values()]);
  replace(app, sidebar(name, el("div", { class: "tabs main", role: "tablist", "aria-label": "Areas", onkeydown: (event) => moveTab(event, tabs) }, [...marks.values()])), main);
  on("tab", (id) => showTab(id, { marks, panels, main }));
  on("sent", () => emit("tab", WIDE.matches ? "try" : "watch"));
  on("signIns", () => marks.get("sign-in")?.classList.toggle("done", state.signIns.size > 0));
  showTab("card", { marks, panels, main });
}

function tab(id, label, sign) {
  return el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `view-${id}`, "aria-selected": "false", tabindex: "-1", onclick: () => emit("tab", id) }, icon(sign), el("span", {}, label));
}

function showTab(id, { marks, panels, main }) {
  if (!panels.has(id)) return;
  const hadFocus = document.activeElement?.getAttribute("role") === "tab";
  for (const [each, mark] of marks) {
    mark.setAttribute("aria-selected", String(each === id));
    mark.tabIndex = each === id ? 0 : -1;
  }
  // On a wide screen the message and what becomes of it stand side by side.
  for (const [each, panel] of panels) panel.classList.toggle("shown", each === id || (id === "try" && each === "watch"));
  main.dataset.tab = id;
  if (hadFocus) marks.get(id).focus();
  marks.get(id).scrollIntoView({ block: "nearest", inline: "nearest" });
  window.scrollTo(0, 0);
}

function moveTab(event, tabs) {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const at = tabs.findIndex(([id]) => document.getElementById(`tab-${id}`).getAttribute("aria-selected") === "true");
  emit("tab", tabs[(at + step + tabs.length) % tabs.length][0]);
}

/* --- the sidebar -------------------------------------------------------------------------------------------------------------------------------- */

function sidebar(name, tabs) {
  return el("header", { class: "sidebar" },
    el("div", { class: "brand" }, el("span", { class: "avatar small", "aria-hidden": "true" }, initials(name)), el("div", { class: "brand-text" }, el("h1", { class: "agent-text" }, name), el("p", { class: "muted" }, "A2A explorer"))),
    agentPicker(), el("nav", { "aria-label": "Areas" }, tabs), themeSwitch());
}

function agentPicker() {
  if (state.agents.length < 2) return null;
  const control = el("select", { "aria-label": "Agent", onchange: () => { state.agent = control.value; openAgent(); } }, state.agents.map((each) => el("option", { value: each.id, selected: each.id === state.agent }, each.name || each.id)));
  return control;
}

function themeSwitch() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  return button("Light or dark", () => {
    const isDark = root.style.colorScheme ? root.style.colorScheme === "dark" : dark.matches;
    root.style.colorScheme = isDark ? "light" : "dark";
  }, { kind: "quiet theme", sign: "sun", "aria-label": "Light or dark" });
}

start();
