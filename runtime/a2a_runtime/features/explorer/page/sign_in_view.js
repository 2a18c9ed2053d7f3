/* Sign-in by what the card declares. Credentials stay in the memory of this page: a reload forgets them. */

import { beginSignIn, finishSignIn } from "./api.js";
import { badge, button, el, replace } from "./dom.js";
import { showError } from "./errors.js";
import { labelled } from "./scalar_fields.js";
import { emit, on, state } from "./state.js";
import { count, formatDuration } from "./text.js";

const RETURN = "a2a-explorer-sign-in";
const WAIT_MILLISECONDS = 5 * 60_000;
// RFC 6750 and RFC 7617 have these; the scheme of the card has the rest.
const AUTHORIZATION = "Authorization";

/** Make the view with a form for each scheme. */
export function signInView() {
  const schemes = state.info.security ?? [];
  const status = el("div", {});
  const drawStatus = () => replace(status, state.signIns.size === 0
    ? el("p", { class: "muted" }, "You are not signed in. Requests go out without credentials of yours.")
    : el("p", { class: "notice ok", role: "status" }, `Signed in with ${count(state.signIns.size, "scheme")}. Credentials are kept in this page's memory only, and a reload forgets them.`));
  on("signIns", drawStatus);
  drawStatus();
  // In an app, credentials reach the agent only if its card names their scheme.
  const isMounted = state.mode === "mounted";
  const hint = `The card asks for no credentials.${isMounted ? "" : " If the agent wants some all the same, give them here."}`;
  const others = isMounted ? [] : [schemePanel({ name: "Authorization", kind: "bearer", text: "" })];
  const forms = schemes.length ? schemes.map(schemePanel) : [el("p", { class: "empty muted" }, hint), ...others];
  return el("section", { class: "sign-in" }, el("div", { class: "panel" }, el("h2", {}, "Sign in"), status), forms);
}

function schemePanel(scheme) {
  const problem = el("div", {});
  const body = el("div", {});
  const draw = () => {
    const isIn = state.signIns.has(scheme.name);
    replace(body, isIn ? signedIn(scheme) : formOf(scheme, problem));
    replace(problem);
  };
  on("signIns", draw);
  draw();
  return el("section", { class: "panel scheme", "aria-label": scheme.name },
    el("h3", { class: "agent-text" }, scheme.name, " ", badge(scheme.kind, "info"), scheme.required ? badge("required", "warn") : null),
    scheme.text ? el("p", { class: "muted agent-text" }, scheme.text) : null, body, problem);
}

function signedIn(scheme) {
  const { label } = state.signIns.get(scheme.name);
  return el("div", { class: "bar" }, badge("signed in", "ok"), el("span", {}, label), button("Sign out", () => forget(scheme.name), { sign: "cross" }));
}

function keep(name, credentials) {
  state.signIns.set(name, credentials);
  emit("signIns");
}

function forget(name) {
  state.signIns.delete(name);
  emit("signIns");
}

function formOf(scheme, problem) {
  const makers = { apiKey: keyForm, basic: passwordForm, bearer: tokenForm, http: tokenForm, oauth2: oauthForm, openIdConnect: oauthForm };
  const make = makers[scheme.kind];
  if (!make) return el("p", { class: "muted" }, "This scheme is not one that a page can use. With client certificates, start the explorer with their files.");
  return make(scheme, problem);
}

function fieldOf(name, { type = "text", description = "", isRequired = true, value = "", autocomplete = "off" } = {}) {
  const control = el("input", { type, value, autocomplete, spellcheck: "false" });
  const { element, fail } = labelled({ name, schema: { description }, isRequired, control });
  return { element, read: () => control.value, isMissing() {
    const isMissing = isRequired && control.value === "";
    fail(isMissing ? "Required" : "");
    return isMissing;
  } };
}

function signInForm(fields, label, submit) {
  const send = (event) => {
    event.preventDefault();
    if (!fields.map((each) => each.isMissing()).some(Boolean)) submit();
  };
  return el("form", { novalidate: true, onsubmit: send }, fields.map((each) => each.element), el("div", { class: "bar end" }, button(label, () => {}, { kind: "primary", sign: "key", type: "submit" })));
}

/* --- schemes ------------------------------------------------------------------------------------------------------------------------------------ */

function keyForm(scheme) {
  const parameter = scheme.parameter ?? scheme.name;
  const key = fieldOf("Key", { type: "password", description: `Sent as ${scheme.location ?? "header"} ${parameter}.` });
  const places = { query: (value) => ({ query: { [parameter]: value } }), cookie: (value) => ({ headers: { Cookie: `${parameter}=${value}` } }) };
  const place = places[scheme.location] ?? ((value) => ({ headers: { [parameter]: value } }));
  return signInForm([key], "Use this key", () => keep(scheme.name, { ...place(key.read()), label: `key for ${parameter}` }));
}

function passwordForm(scheme) {
  const user = fieldOf("User name", { autocomplete: "username" });
  const password = fieldOf("Password", { type: "password" });
  return signInForm([user, password], "Sign in", () => {
    const bytes = new TextEncoder().encode(`${user.read()}:${password.read()}`);
    keep(scheme.name, { headers: { [AUTHORIZATION]: `Basic ${btoa(String.fromCharCode(...bytes))}` }, label: user.read() });
  });
}

function tokenForm(scheme) {
  const token = fieldOf("Token", { type: "password", description: "Sent as a bearer token." });
  return signInForm([token], "Use this token", () => keep(scheme.name, { headers: { [AUTHORIZATION]: `Bearer ${token.read().trim()}` }, label: "bearer token" }));
}

function oauthForm(scheme, problem) {
  const client = fieldOf("Client id", { description: "As the issuer knows this explorer; its return address is that of this page." });
  const secret = fieldOf("Client secret", { type: "password", isRequired: false, description: "Only for clients that have one." });
  const scopes = fieldOf("Scopes", { isRequired: false, value: (scheme.scopes ?? []).join(" "), description: "Separated by spaces." });
  const sign = async () => {
    try {
      replace(problem, el("p", { class: "notice info", role: "status" }, "Sign in in the window that has opened."));
      await signInWithPopup(scheme, { clientId: client.read(), clientSecret: secret.read(), scopes: scopes.read().split(/\s+/).filter(Boolean) });
    } catch (error) {
      replace(problem, showError(error));
    }
  };
  const form = signInForm([client, secret, scopes], "Sign in in a window", sign);
  return el("div", {}, form, el("details", { class: "foldout quiet" }, el("summary", {}, "I have a token"), tokenForm(scheme)));
}

async function signInWithPopup(scheme, { clientId, clientSecret, scopes }) {
  // Opened at once: a window that opens after a wait is blocked.
  const popup = window.open("about:blank", "a2a-explorer-sign-in", "popup,width=520,height=720");
  const redirectUri = location.origin + location.pathname;
  try {
    const begun = await beginSignIn({ scheme: scheme.name, clientId, scopes, redirectUri });
    const returned = waitForReturn(begun.state, popup);
    if (popup) popup.location.replace(begun.authorizationUrl);
    const { code } = await returned;
    const token = await finishSignIn({ scheme: scheme.name, clientId, clientSecret: clientSecret || undefined, code, verifier: begun.verifier, redirectUri });
    keep(scheme.name, { headers: token.headers, label: token.expiresIn ? `token, valid for ${formatDuration(token.expiresIn * 1000)}` : "token" });
  } finally {
    popup?.close();
  }
}

function waitForReturn(expected, popup) {
  if (!popup) return Promise.reject(new Error("The browser has blocked the window; allow windows for this page, then try again"));
  const channel = new BroadcastChannel(RETURN);
  const ending = new AbortController();
  return new Promise((resolve, reject) => {
    const take = ({ data, origin }) => {
      if ((origin && origin !== location.origin) || data?.type !== RETURN || data.state !== expected) return;
      if (data.code) resolve(data);
      else reject(new Error(`The issuer says: ${data.description || data.error || "no code"}`));
    };
    window.addEventListener("message", take, { signal: ending.signal });
    channel.addEventListener("message", take);
    setTimeout(() => reject(new Error("Nobody has signed in within five minutes; try again")), WAIT_MILLISECONDS);
  }).finally(() => {
    ending.abort();
    channel.close();
  });
}
