/* Calls of the server side of the explorer. It speaks to the agent; this page speaks canonical A2A 1.0 JSON to it, on its own origin only. */

import { addExchanges, state } from "./state.js";

/** An operation that failed, with what the server side says of it. */
export class CallError extends Error {
  constructor(error, status) {
    super(error.message || `The explorer answered with status ${status}`);
    this.name = error.name || "Error";
    this.code = error.code ?? null;
    this.fields = error.fields ?? [];
    this.section = error.section ?? null;
    this.cure = error.cure ?? null;
    this.description = error.description ?? null;
    this.details = error.details ?? {};
    this.origin = error.origin ?? null;
    this.status = status;
  }
}

/** Take the one-time token from the address, and the address bar. */
export function takeToken() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  // In the state of the history it survives a reload of this tab, and no address shows it.
  const token = hash.get("token") ?? query.get("token") ?? history.state?.token ?? "";
  if (hash.get("agent") ?? query.get("agent")) state.agent = hash.get("agent") ?? query.get("agent");
  if (token) history.replaceState({ token }, "", location.pathname);
  state.token = token;
}

/** List the agents that this page may show. */
export const listAgents = () => call("GET", "api/agents");

/** Read the card of an agent, and what is known of it. */
export const readAgent = () => call("GET", agentPath(""));

/** Run an operation. */
export const operate = (operation, request) => call("POST", agentPath(`/operations/${operation}`), withInterface({ request }));

/** Write a request in the languages that one may copy. */
export const readSnippets = (operation, request) => call("POST", agentPath("/snippets"), withInterface({ operation, request }));

/** Begin a sign-in of OAuth. */
export const beginSignIn = (body) => call("POST", agentPath("/sign-in"), body);

/** Exchange the code of a sign-in for its credentials. */
export const finishSignIn = (body) => call("POST", agentPath("/token"), body);

const agentPath = (rest) => `api/agents/${encodeURIComponent(state.agent)}${rest}`;
const withInterface = (body) => (state.interface ? { ...body, interface: state.interface } : body);

async function call(method, path, body) {
  const reply = await send(method, path, body);
  const content = await readJson(reply);
  addExchanges(content.exchanges ?? []);
  if (!reply.ok || content.error) throw new CallError(content.error ?? {}, reply.status);
  return content;
}

async function send(method, path, body, { signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept, "X-A2A-Explorer": state.token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const credentials = mergeCredentials();
  if (credentials) headers["X-A2A-Credentials"] = encodeBase64Url(JSON.stringify(credentials));
  try {
    return await fetch(path, { method, headers, signal, credentials: "same-origin", cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new CallError({ name: "ConnectionError", message: "The explorer does not answer", cure: "Look whether its process still runs, then try again" }, 0);
  }
}

async function readJson(reply) {
  try {
    return await reply.json();
  } catch {
    return { error: { message: `The explorer answered with status ${reply.status}`, cure: reply.status === 401 || reply.status === 403 ? "Open the address that the command printed; it has the token" : null } };
  }
}

function mergeCredentials() {
  const signIns = [...state.signIns.values()];
  if (signIns.length === 0) return null;
  return { headers: Object.assign({}, ...signIns.map((each) => each.headers ?? {})), query: Object.assign({}, ...signIns.map((each) => each.query ?? {})) };
}

function encodeBase64Url(text) {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/**
 * Follow a stream.
 *
 * `onEvent(data, cursor)` gets each event. The promise ends with the stream; it is rejected with a `CallError`, or an `AbortError` where the signal cut it.
 */
export async function follow(operation, body, { signal, onEvent }) {
  const reply = await send("POST", agentPath(`/streams/${operation}`), withInterface(body), { signal, accept: "text/event-stream" });
  if (!reply.ok || !reply.body) {
    const content = await readJson(reply);
    addExchanges(content.exchanges ?? []);
    throw new CallError(content.error ?? {}, reply.status);
  }
  let isEnded = false;
  for await (const { type, data, id } of readEvents(reply.body.getReader())) {
    if (type === "exchange") addExchanges([JSON.parse(data)]);
    else if (type === "event") onEvent(JSON.parse(data), id);
    else if (type === "end") isEnded = true;
    else if (type === "error") throw streamError(JSON.parse(data));
  }
  if (!isEnded) throw new CallError({ name: "ConnectionError", message: "The stream ended before its task did", cure: "Resume from the last event" }, 0);
}

function streamError(content) {
  addExchanges(content.exchanges ?? []);
  return new CallError(content.error ?? content, 200);
}

async function* readEvents(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  let fields = { type: "message", data: [], id: null };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (fields.data.length) yield { ...fields, data: fields.data.join("\n") };
        fields = { type: "message", data: [], id: null };
      } else readField(line, fields);
    }
  }
}

function readField(line, fields) {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "event") fields.type = value;
  else if (name === "data") fields.data.push(value);
  else if (name === "id") fields.id = value;
}
