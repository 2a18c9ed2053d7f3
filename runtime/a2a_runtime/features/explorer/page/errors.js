/* Errors for people: what happened, where, why by the specification, and what to do. */

import { badge, el } from "./dom.js";

/** Show an error of an operation. */
export function showError(error) {
  const signs = [error.name && error.name !== "Error" ? badge(error.name, "bad") : null, error.code !== null && error.code !== undefined ? badge(`code ${error.code}`) : null];
  const fields = (error.fields ?? []).map(({ path, text }) => el("li", { class: "agent-text" }, el("code", {}, path || "the request"), " ", text));
  return el("div", { class: "notice bad", role: "alert" },
    el("p", { class: "agent-text" }, el("strong", {}, error.message)),
    el("p", { class: "badges" }, signs, error.origin === "agent" ? el("span", { class: "muted" }, "said by the agent") : null),
    error.description && error.description !== error.message ? el("p", { class: "muted agent-text" }, error.description) : null,
    fields.length ? el("ul", {}, fields) : null,
    error.cure ? el("p", { class: "agent-text" }, error.cure) : null,
    error.section ? el("p", { class: "muted" }, `Specification: ${error.section}`) : null);
}
