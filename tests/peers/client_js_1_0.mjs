// Runs beside @a2a-js/sdk 1.x: its client does everything that it can with the agent at a URL.
//
//     node client_js_1_0.mjs FOLDER URL BINDING VERSION
//
// The client fetches the card and finds the interface of that binding (JSONRPC, HTTP+JSON) and version (1.0, 0.3) on it by itself.
import { randomUUID } from "node:crypto";
import { HOOK, all, fetchAs, load, refusal, state, take } from "./js_steps.mjs";

const [, , folder, url, binding, version] = process.argv;
const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load(folder, "/client");
const { Role, TaskState } = await load(folder);

const options = { fetchImpl: fetchAs("ada"), legacyCompat: { enabled: version !== "1.0" } };
const Factory = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory }[binding];
const factory = new ClientFactory({ transports: [new Factory(options)] });
const card = await new DefaultAgentCardResolver({ fetchImpl: options.fetchImpl }).resolve(url);
card.supportedInterfaces = card.supportedInterfaces.filter((each) => each.protocolVersion === version);
const client = await factory.createFromAgentCard(card);

const part = (given) => ({ metadata: undefined, filename: "", mediaType: "", ...(typeof given === "string" ? { content: { $case: "text", value: given } } : given) });
const request = (parts, { skill = "echo", atOnce = false, ...more } = {}) => ({
  tenant: "",
  message: {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: parts.map(part),
    contextId: "",
    taskId: "",
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  },
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: atOnce },
  metadata: { skillId: skill },
});
const send = (parts, more) => client.sendMessage(request(parts, more));
const stream = (parts, more) => all(client.sendMessageStream(request(parts, more)));
const begun = (skill, text = "x") => send([text], { skill, atOnce: true });
const named = (id) => ({ tenant: "", id });
const text = (each) => each.content.value;
const stateOf = (status) => state(TaskState[status.state]);
const summary = (task) => ({
  state: stateOf(task.status),
  artifacts: task.artifacts.map((each) => each.parts.filter((one) => one.content.$case === "text").map(text).join("")),
  history: task.history.map((each) => text(each.parts[0])),
});
const ends = (events) => ({ first: events[0].payload.$case, last: stateOf(events.at(-1).payload.value.status) });
const described = ({ content, filename, mediaType }) => ({
  [content.$case]: content.$case === "raw" ? Buffer.from(content.value).toString("base64") : content.value,
  ...(filename ? { filename } : {}),
  ...(mediaType && content.$case !== "text" ? { mediaType } : {}),
});

const steps = {
  card: async () => ({ name: card.name, streaming: card.capabilities.streaming, skills: card.skills.some((each) => each.id === "echo") }),
  send: async () => summary(await send(["hello"])),
  answer: async () => (await send(["Ada"], { skill: "greet" })).parts.map(text),
  contents: async () => {
    const sent = [
      "t",
      { content: { $case: "data", value: { n: [1, null, { deep: true }], text: "ü\u2028" } } },
      { content: { $case: "raw", value: Buffer.from([0, 255]) }, filename: "f.bin" },
      { content: { $case: "url", value: "https://example.org/f" }, mediaType: "image/png" },
    ];
    return (await send(sent, { skill: "mirror" })).artifacts[0].parts.map(described);
  },
  stream: async () => {
    const events = await stream(["3"], { skill: "count" });
    const chunks = events.filter((each) => each.payload.$case === "artifactUpdate").map((each) => text(each.payload.value.artifact.parts[0]));
    return { ...ends(events), chunks };
  },
  stream_answer: async () => (await stream(["Ada"], { skill: "greet" })).map((each) => each.payload.$case),
  get: async () => {
    const { id } = await send(["hello"]);
    const [task, short] = [await client.getTask(named(id)), await client.getTask({ ...named(id), historyLength: 0 })];
    return { task: summary(task), short: summary(short).history };
  },
  cancel: async () => {
    const { id } = await begun("wait");
    return { state: stateOf((await client.cancelTask(named(id))).status), again: await refusal(() => client.cancelTask(named(id))) };
  },
  subscribe: async () => {
    const { id } = await begun("tick", "4");
    return { ...ends(await all(client.resubscribeTask(named(id)))), ended: await refusal(() => all(client.resubscribeTask(named(id)))) };
  },
  conversation: async () => {
    const asking = await send(["hi"], { skill: "ask" });
    const done = await send(["yes"], { taskId: asking.id });
    return { asked: text(asking.status.message.parts[0]), before: stateOf(asking.status), after: summary(done) };
  },
  question: async () => ends(await stream(["hi"], { skill: "ask" })),
  push: async () => {
    const { id: taskId } = await begun("wait");
    const wanted = { tenant: "", taskId, id: "p-1" };
    const made = await client.createTaskPushNotificationConfig({ ...wanted, url: HOOK, token: "t-1", authentication: undefined });
    const read = await client.getTaskPushNotificationConfig(wanted);
    const listed = await client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" });
    for (const _ of "12") await client.deleteTaskPushNotificationConfig(wanted);
    const gone = await refusal(() => client.getTaskPushNotificationConfig(wanted));
    await client.cancelTask(named(taskId));
    return { made: made.url, read: [read.id, read.url], listed: listed.configs.map((each) => each.id), gone };
  },
  extended_card: async () => (await client.getAgentCard()).skills.some((each) => each.id === "secret"),
  unknown: async () => [
    await refusal(() => client.getTask(named("nobody"))),
    await refusal(() => client.cancelTask(named("nobody"))),
    await refusal(() => stream(["x"], { taskId: "nobody" })),
  ],
  failure: async () => {
    const task = await send(["x"], { skill: "break" });
    return { state: stateOf(task.status), told: JSON.stringify(task).includes("hunter2") };
  },
};
if (version === "1.0") {
  steps.list_tasks = async () => {
    const contextId = randomUUID();
    for (const each of "abc") await send([each], { contextId });
    const pages = [];
    let page = { nextPageToken: "" };
    for (const _ of "12") {
      const asked = { tenant: "", contextId, status: 0, pageSize: 2, pageToken: page.nextPageToken, statusTimestampAfter: undefined, includeArtifacts: true };
      page = await client.listTasks(asked);
      pages.push(page.tasks.map((task) => summary(task).artifacts[0]));
    }
    return { pages, total: page.totalSize, token: page.nextPageToken };
  };
}
await take(steps);
