/* The card: everything on it, what is wrong with it, and whether its signatures verify. */

import { badge, button, copyButton, el, facts, foldout, link } from "./dom.js";
import { jsonTree } from "./json_tree.js";
import { markdown } from "./markdown.js";
import { showText } from "./parts.js";
import { schemaDocs } from "./schema_docs.js";
import { emit, state } from "./state.js";
import { count, initials, pretty } from "./text.js";

const FOLDED_FROM = 6;

/** Make the view of the card. */
export function cardView() {
  const { card, source } = state.info;
  if (!card) return el("div", { class: "card-view" }, el("p", { class: "notice bad", role: "alert" }, "The agent's card cannot be used, so nothing can be sent. This is what is wrong with it:"), findings(), asJson());
  return el("div", { class: "card-view" },
    hero(card, source), findings(),
    section("Skills", skills(), state.info.skills?.length),
    section("Interfaces", interfaces(card)),
    section("Capabilities", capabilities(card)),
    section("Sign-in", security()),
    section("Extensions", extensions(card)),
    section("Signatures", signatures()),
    asJson());
}

function asJson() {
  const { card, raw } = state.info;
  const text = typeof raw === "string" && raw ? raw : pretty(raw || card);
  return section("As JSON", el("div", {}, el("div", { class: "bar" }, copyButton(() => text, "Copy the card")), foldout("The card as the agent sent it", () => showText(text, "application/json"))));
}

function section(title, content, number = null) {
  return el("section", { class: "panel" }, el("h2", {}, title, number === null || number === undefined ? null : el("span", { class: "number" }, number)), content);
}

function hero(card, source) {
  const marks = [
    badge(`version ${card.version || "unknown"}`),
    ...dialects().map((each) => badge(each, "info")),
    card.capabilities?.streaming ? badge("streams", "ok") : null,
    card.capabilities?.pushNotifications ? badge("webhooks", "ok") : null,
    signed(),
  ];
  return el("section", { class: "panel hero" },
    el("div", { class: "avatar", "aria-hidden": "true" }, initials(card.name ?? "?")),
    el("div", { class: "hero-text" },
      el("h2", { class: "agent-text" }, card.name || "An agent without a name"),
      card.description ? markdown(String(card.description).slice(0, 20_000)) : el("p", { class: "muted" }, "It does not say what it does."),
      el("p", { class: "badges" }, marks),
      facts([
        ["Provider", card.provider?.organization ? link(card.provider.url ?? "", card.provider.organization) : null],
        ["Documentation", card.documentationUrl ? link(card.documentationUrl) : null],
        ["Card from", source ? link(source) : null],
      ])));
}

const dialects = () => [...new Set((state.info.interfaces ?? []).filter((each) => each.dialect).map((each) => (/^\d/.test(each.dialect) ? `A2A ${each.dialect}` : each.dialect)))];

function signed() {
  const found = state.info.signatures ?? [];
  if (found.length === 0) return null;
  const shown = [["valid", "signature verified", "ok"], ["own-key", "signed with its own key"], ["invalid", "signature invalid", "bad"]];
  const [, text, tone] = shown.find(([status]) => found.some((each) => each.status === status)) ?? ["", "signature not verified", "warn"];
  return badge(text, tone);
}

function findings() {
  const found = state.info.findings ?? [];
  const wrong = found.filter((each) => each.level !== "info");
  const notes = found.filter((each) => each.level === "info");
  const more = notes.length ? foldout(count(notes.length, "remark"), () => findingList(notes), { kind: "quiet" }) : null;
  if (wrong.length === 0) return el("div", { class: "notice ok" }, el("p", {}, "The card is valid: the schema of the protocol finds nothing wrong with it."), more);
  return el("section", { class: "panel findings" }, el("h2", {}, "Wrong with this card", el("span", { class: "number" }, wrong.length)), findingList(wrong), more);
}

const findingList = (found) => el("ul", {}, found.slice(0, 200).map(({ path, text, level }) => el("li", { class: "agent-text" },
  level === "info" ? null : badge(level || "error", level === "warning" ? "warn" : "bad"), " ", path ? el("code", {}, path) : null, " ", text)));

/* --- skills ------------------------------------------------------------------------------------------------------------------------------------- */

function skills() {
  const found = state.info.skills ?? [];
  if (found.length === 0) return el("p", { class: "muted" }, "The card lists no skills. You can still send it a message.");
  return el("div", { class: "skills" }, found.slice(0, 500).map((skill) => skillCard(skill, found.length < FOLDED_FROM)));
}

function skillCard(skill, isOpen) {
  const examples = (skill.examples ?? []).slice(0, 20);
  return el("article", { class: "skill" },
    el("div", { class: "skill-head" },
      el("h3", { class: "agent-text" }, skill.name || skill.id),
      button("Try", () => emit("try", { skill: skill.id }), { kind: "small", sign: "try", "aria-label": `Try ${skill.name || skill.id}` })),
    el("p", { class: "badges" }, el("code", { class: "agent-text" }, skill.id), skill.typed ? badge("typed", "info") : null, skill.stream ? badge("streams", "ok") : null, (skill.tags ?? []).slice(0, 12).map((tag) => badge(tag))),
    skill.description ? markdown(String(skill.description).slice(0, 5_000)) : null,
    examples.length ? foldout(count(examples.length, "example"), () => el("ul", { class: "examples" }, examples.map((each) => el("li", { class: "agent-text" }, each))), { open: isOpen, kind: "quiet" }) : null,
    skill.inputSchema ? foldout("Input", () => schemaDocs(skill.inputSchema), { open: isOpen, kind: "quiet" }) : null,
    skill.outputSchema ? foldout(skill.stream ? "Output, each piece" : "Output", () => schemaDocs(skill.outputSchema), { kind: "quiet" }) : null,
    facts([["Takes", (skill.inputModes ?? []).join(", ")], ["Gives", (skill.outputModes ?? []).join(", ")]]));
}

/* --- the rest ----------------------------------------------------------------------------------------------------------------------------------- */

function interfaces(card) {
  const listed = state.info.interfaces ?? (card.supportedInterfaces ?? []).map((each) => ({ url: each.url, binding: each.protocolBinding, dialect: each.protocolVersion, tenant: each.tenant, usable: true }));
  const rows = listed.map((each) => el("tr", {},
    el("td", {}, each.binding || "–"), el("td", {}, each.dialect || "–"), el("td", { class: "address agent-text" }, each.url, each.tenant ? ` (tenant ${each.tenant})` : ""),
    el("td", {}, each.usable === false ? [badge("not usable", "warn"), " ", each.reason ?? ""] : badge("usable", "ok"))));
  return table(["Binding", "Version", "Address", "Here"], rows, "The card lists no interface, so the agent cannot be called.");
}

function table(heads, rows, empty) {
  if (rows.length === 0) return el("p", { class: "muted" }, empty);
  return el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": heads.join(", ") }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((each) => el("th", { scope: "col" }, each)))), el("tbody", {}, rows)));
}

function capabilities(card) {
  const can = card.capabilities ?? {};
  const yes = (value) => (value ? badge("yes", "ok") : badge("no"));
  return facts([
    ["Streaming", yes(can.streaming)], ["Push notifications", yes(can.pushNotifications)], ["Extended card", yes(can.extendedAgentCard)],
    ["Takes", (card.defaultInputModes ?? []).join(", ")], ["Gives", (card.defaultOutputModes ?? []).join(", ")],
  ]);
}

function security() {
  const found = state.info.security ?? [];
  if (found.length === 0) return el("p", { class: "muted" }, "The card asks for no credentials.");
  return el("ul", { class: "plain" }, found.map((each) => el("li", { class: "agent-text" }, badge(each.kind, "info"), " ", el("strong", {}, each.name), each.text ? ` — ${each.text}` : "")));
}

function extensions(card) {
  const found = card.capabilities?.extensions ?? [];
  if (found.length === 0) return el("p", { class: "muted" }, "None.");
  return el("ul", { class: "plain" }, found.slice(0, 100).map((each) => el("li", {},
    el("div", { class: "agent-text" }, link(each.uri), " ", each.required ? badge("required", "warn") : null),
    each.description ? el("p", { class: "muted agent-text" }, each.description) : null,
    each.params && Object.keys(each.params).length ? foldout("Parameters", () => jsonTree(each.params, 2), { kind: "quiet" }) : null)));
}

function signatures() {
  const found = state.info.signatures ?? [];
  if (found.length === 0) return el("p", { class: "muted" }, "The card is not signed.");
  const tones = { valid: ["verified", "ok"], "own-key": ["valid"], invalid: ["does not verify", "bad"] };
  return el("ul", { class: "plain" }, found.map((each) => {
    const [text, tone] = tones[each.status] ?? ["key unknown", "warn"];
    return el("li", { class: "agent-text" }, badge(text, tone), " ", each.algorithm ? el("code", {}, each.algorithm) : null, " ", each.keyId ? ["key ", el("code", {}, each.keyId)] : null, each.text ? ` — ${each.text}` : "");
  }));
}
