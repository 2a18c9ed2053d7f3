// Runs beside @a2a-js/sdk 1.x: an agent made with it, over JSON-RPC at /rpc, over HTTP+JSON below /rest, and over gRPC, in 1.0 and with its layer for 0.3.
//
//     node server_js_1_0.mjs FOLDER
//
// What the agent does, the first word of a message says; README.md has the list.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { load, loadExpress, serve, serveGrpc } from "./js_steps.mjs";

const folder = process.argv[2];
const express = loadExpress(folder);
const { AgentCard, Role, TaskState } = await load(folder);
const { AgentEvent, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } = await load(folder, "/server");
const { agentCardHandler, jsonRpcHandler, restHandler } = await load(folder, "/server/express");
const { A2AService, grpcService } = await load(folder, "/server/grpc");
const { LegacyA2AService, legacyGrpcService } = await load(folder, "/compat/v0_3/server/grpc");
const { RequestMalformedError } = await load(folder, "/errors");

const part = (text) => ({ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" });
const said = (contextId, taskId, text) => ({
  messageId: randomUUID(),
  contextId,
  taskId,
  role: Role.ROLE_AGENT,
  parts: [part(text)],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

class Peer {
  canceled = new Set();

  async execute({ userMessage, taskId, contextId, task }, bus) {
    const text = userMessage.parts[0].content.value;
    const [word, rest] = typeof text === "string" && text.includes(" ") ? [text.split(" ", 1)[0], text.slice(text.indexOf(" ") + 1)] : [text, ""];
    if (word === "message") {
      bus.publish(AgentEvent.message(said(contextId, "", rest)));
      return bus.finished();
    }
    if (word === "refuse") throw new RequestMalformedError(rest);
    const status = (state, message) => ({ state, message: message === undefined ? undefined : said(contextId, taskId, message), timestamp: new Date().toISOString() });
    const update = (state, message) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, message), metadata: undefined }));
    const artifact = (artifactId, parts, append, lastChunk) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: { artifactId, name: artifactId, description: "", parts, metadata: undefined, extensions: [] },
          append,
          lastChunk,
          metadata: undefined,
        }),
      );
    const begun = task ?? { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined };
    bus.publish(AgentEvent.task({ ...begun, status: status(TaskState.TASK_STATE_WORKING) }));
    if (word === "ask") {
      update(TaskState.TASK_STATE_INPUT_REQUIRED, rest);
      return bus.finished();
    }
    for (let waited = 0; word === "wait" && waited < 600 && !this.canceled.has(taskId); waited++) await sleep(100);
    if (this.canceled.has(taskId)) return;
    if (word === "fail") update(TaskState.TASK_STATE_FAILED, rest);
    else {
      if (word === "count") {
        for (let number = 0; number < Number(rest); number++) {
          artifact("count", [part(`${number} `)], number > 0, number + 1 === Number(rest));
          await sleep(2);
        }
      } else artifact("echo", userMessage.parts, false, true);
      update(TaskState.TASK_STATE_COMPLETED);
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    this.canceled.add(taskId);
    const status = { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() };
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: "", status, metadata: undefined }));
    bus.finished();
  }
}

await serve(express, async (url, app) => {
  const interfaces = ["1.0", "0.3"].flatMap((protocolVersion) => [
    { url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion },
    { url: `${url}/rest`, protocolBinding: "HTTP+JSON", protocolVersion },
  ]);
  const card = AgentCard.fromJSON({
    name: "Peer",
    description: "Made with the official SDK.",
    version: "1",
    supportedInterfaces: interfaces,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Says it again.", tags: ["test"] }],
  });
  const extended = { ...card, description: "For those who are known." };
  const requestHandler = new DefaultRequestHandler(
    card, new InMemoryTaskStore(), new Peer(), undefined, new InMemoryPushNotificationStore(), undefined, extended,
  );
  const options = { requestHandler, userBuilder: async () => ({ isAuthenticated: true, userName: "ada" }), legacyCompat: { enabled: true } };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: { enabled: true } }));
  const services = [[A2AService, grpcService(options)], [LegacyA2AService, legacyGrpcService(options)]];
  const address = await serveGrpc(folder, ...services);
  card.supportedInterfaces.push(
    ...["1.0", "0.3"].map((protocolVersion) => ({ url: address, protocolBinding: "GRPC", protocolVersion, tenant: "" })),
  );
  app.use("/rpc", jsonRpcHandler(options));
  app.use("/rest", restHandler(options));
});
