/* What the page knows, in one object; views subscribe to topics. Nothing of it is stored: a reload forgets all, credentials too. */

const MAX_EXCHANGES = 2000;
const listeners = new Map();

export const state = {
  token: "",
  mode: "command",
  agents: [],
  agent: null,
  // The answer of `GET api/agents/{id}`.
  info: null,
  // The id of the interface that is called; null leaves the choice to the client.
  interface: null,
  // By the name of a security scheme: {headers, query, label}.
  signIns: new Map(),
  runs: [],
  run: null,
  exchanges: [],
};

/** Call a function whenever a topic changes: agent, run, runs, exchanges, signIns, tab. */
export function on(topic, listener) {
  listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
}

/** Tell those who subscribed to a topic. */
export function emit(topic, value) {
  for (const listener of listeners.get(topic) ?? []) listener(value);
}

/** Forget what is known of an agent, before another one is shown. */
export function forgetAgent() {
  for (const run of state.runs) run.controller?.abort();
  Object.assign(state, { info: null, interface: null, signIns: new Map(), runs: [], run: null, exchanges: [] });
  listeners.clear();
}

/** Keep exchanges with the agent; one with a known id replaces it. */
export function addExchanges(exchanges) {
  if (exchanges.length === 0) return;
  for (const each of exchanges) {
    const at = state.exchanges.findLastIndex((known) => known.id === each.id);
    if (at >= 0) state.exchanges[at] = each;
    else state.exchanges.push(each);
  }
  if (state.exchanges.length > MAX_EXCHANGES) state.exchanges.splice(0, state.exchanges.length - MAX_EXCHANGES);
  emit("exchanges");
}

/** Find an extension that the card declares. */
export function findExtension(uri) {
  return state.info?.card?.capabilities?.extensions?.find((each) => each.uri === uri) ?? null;
}
