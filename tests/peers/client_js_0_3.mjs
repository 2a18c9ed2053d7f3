// Runs beside @a2a-js/sdk 0.3: its client does everything that it can with the agent at a URL.
//
//     node client_js_0_3.mjs FOLDER URL TRANSPORT
//
// The client fetches the card and finds the interface of that transport (JSONRPC, or HTTP+JSON, where it speaks the ProtoJSON form) on it by itself.
// It has no lists of tasks.
import { randomUUID } from "node:crypto";
import { HOOK, all, fetchAs, load, refusal, state, take } from "./js_steps.mjs";

const [, , folder, url, transport] = process.argv;
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load(folder, "/client");

const fetchImpl = fetchAs("ada");
const Factory = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory }[transport];
const factory = new ClientFactory({ transports: [new Factory({ fetchImpl })], cardResolver: new DefaultAgentCardResolver({ fetchImpl }) });
const client = await factory.createFromUrl(url);
const card = await new DefaultAgentCardResolver({ fetchImpl }).resolve(url);

const part = (given) => (typeof given === "string" ? { kind: "text", text: given } : given);
const params = (parts, { skill = "echo", atOnce = false, ...more } = {}) => ({
  message: { kind: "message", messageId: randomUUID(), role: "user", parts: parts.map(part), ...more },
  configuration: { blocking: !atOnce },
  metadata: { skillId: skill },
});
const send = (parts, more) => client.sendMessage(params(parts, more));
const stream = (parts, more) => all(client.sendMessageStream(params(parts, more)));
const begun = (skill, text = "x") => send([text], { skill, atOnce: true });
const summary = (task) => ({
  state: state(task.status.state),
  artifacts: (task.artifacts ?? []).map((each) => each.parts.map((one) => one.text ?? "").join("")),
  history: (task.history ?? []).map((each) => each.parts[0].text),
});
const ends = (events) => ({ first: events[0].kind, last: state(events.at(-1).status.state), final: events.at(-1).final });
const described = (each) => {
  if (each.kind !== "file") return { [each.kind]: each[each.kind] };
  const { bytes, uri, mimeType } = each.file;
  return bytes ? { raw: bytes, filename: "f.bin" } : { url: uri, mediaType: mimeType };
};

await take({
  card: async () => ({ name: card.name, streaming: card.capabilities.streaming, skills: card.skills.some((each) => each.id === "echo") }),
  send: async () => summary(await send(["hello"])),
  answer: async () => (await send(["Ada"], { skill: "greet" })).parts.map((each) => each.text),
  contents: async () => {
    const sent = [
      "t",
      { kind: "data", data: { n: [1, null, { deep: true }], text: "ü\u2028" } },
      { kind: "file", file: { bytes: "AP8=", name: "f.bin" } },
      { kind: "file", file: { uri: "https://example.org/f", mimeType: "image/png" } },
    ];
    return (await send(sent, { skill: "mirror" })).artifacts[0].parts.map(described);
  },
  stream: async () => {
    const events = await stream(["3"], { skill: "count" });
    return { ...ends(events), chunks: events.filter((each) => each.kind === "artifact-update").map((each) => each.artifact.parts[0].text) };
  },
  stream_answer: async () => (await stream(["Ada"], { skill: "greet" })).map((each) => each.kind),
  get: async () => {
    const { id } = await send(["hello"]);
    return { task: summary(await client.getTask({ id })), short: summary(await client.getTask({ id, historyLength: 0 })).history };
  },
  cancel: async () => {
    const { id } = await begun("wait");
    return { state: state((await client.cancelTask({ id })).status.state), again: await refusal(() => client.cancelTask({ id })) };
  },
  subscribe: async () => {
    const { id } = await begun("tick", "4");
    return { ...ends(await all(client.resubscribeTask({ id }))), ended: await refusal(() => all(client.resubscribeTask({ id }))) };
  },
  conversation: async () => {
    const asking = await send(["hi"], { skill: "ask" });
    const done = await send(["yes"], { taskId: asking.id });
    return { asked: asking.status.message.parts[0].text, before: state(asking.status.state), after: summary(done) };
  },
  question: async () => ends(await stream(["hi"], { skill: "ask" })),
  push: async () => {
    const { id } = await begun("wait");
    const wanted = { id, pushNotificationConfigId: "p-1" };
    const made = await client.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: { id: "p-1", url: HOOK, token: "t-1" } });
    const read = (await client.getTaskPushNotificationConfig(wanted)).pushNotificationConfig;
    const listed = await client.listTaskPushNotificationConfig({ id });
    for (const _ of "12") await client.deleteTaskPushNotificationConfig(wanted);
    const gone = await refusal(() => client.getTaskPushNotificationConfig(wanted));
    await client.cancelTask({ id });
    return { made: made.pushNotificationConfig.url, read: [read.id, read.url], listed: listed.map((each) => each.pushNotificationConfig.id), gone };
  },
  extended_card: async () => (await client.getAgentCard()).skills.some((each) => each.id === "secret"),
  unknown: async () => [
    await refusal(() => client.getTask({ id: "nobody" })),
    await refusal(() => client.cancelTask({ id: "nobody" })),
    await refusal(() => stream(["x"], { taskId: "nobody" })),
  ],
  failure: async () => {
    const task = await send(["x"], { skill: "break" });
    return { state: state(task.status.state), told: JSON.stringify(task).includes("hunter2") };
  },
});
