/**
 * Runs many clients that send X-Kubernetes-If-Ready, in a process of its own. It takes a ClientsPlan on its command
 * line. Each client sends every request at least once, and continues until SIGTERM if the plan requires it. At its
 * end, the process writes one ClientsReport.
 */
import { setTimeout as delay } from "node:timers/promises";
import { CoreV1Api, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { withEvenkeel } from "../../src/client/client-node/with-evenkeel.ts";
import { createClient, createSystemClock, createSystemRandom } from "../../src/client/index.ts";
import { createNodeTransport } from "../../src/client/node-transport.ts";
import type { ClientsPlan, ClientsReport, Question } from "./restarting-clients.ts";
import { WireTally } from "./restarting-clients-wire.ts";

/** One in this many clients is the library client-node. */
const CLIENT_NODE_EVERY = 10;
const FAILURES_MAX = 20;

type Asking = (question: Question) => Promise<void>;

const plan = JSON.parse(process.argv[2]!) as ClientsPlan;
const stopping = new AbortController();
process.on("SIGTERM", () => stopping.abort());
// Ends the process when the process that reads its output has ended.
process.stdout.on("error", () => process.exit(1));

// All requested objects exist, so every response must be a success of a ready server, or a rejection with 503 or 429.
const isRefusal = (status: number): boolean => status === 503 || status === 429;
const wire = new WireTally((status, ready) => !isRefusal(status) && (status >= 400 || ready !== "true"));
const report = { finished: 0, asked: 0, failures: [] as string[] };

const clients = Array.from({ length: plan.clients }, (_, index) => follow(index));
process.stdout.write("asking\n");
await Promise.all(clients);
process.stdout.write(`${JSON.stringify({ ...report, wire } satisfies ClientsReport)}\n`, () => process.exit(0));

async function follow(index: number): Promise<void> {
  const url = plan.servers[index % plan.servers.length]!;
  const isClientNode = index % CLIENT_NODE_EVERY === CLIENT_NODE_EVERY - 1;
  const ask = isClientNode ? clientNode(url) : ours(url);
  // The start times and the first requests of the clients differ.
  await delay((index / plan.clients) * plan.everyMs);
  for (let turn = 0; turn < plan.questions.length || (plan.goesOn && !stopping.signal.aborted); turn++) {
    const question = plan.questions[(index + turn) % plan.questions.length]!;
    report.asked++;
    try {
      await ask(question);
    } catch (thrown) {
      if (report.failures.length < FAILURES_MAX)
        report.failures.push(`client ${index}: ${question.name}: ${String(thrown)}`);
      return;
    }
    await delay(plan.everyMs, undefined, { signal: stopping.signal }).catch(() => {});
  }
  report.finished++;
}

function ours(url: string): Asking {
  const { ca, token } = plan;
  const client = createClient({
    transport: createNodeTransport({ url, ca, token }),
    clock: createSystemClock(),
    random: createSystemRandom(),
    ifReadyHeader: true,
  });
  return async ({ group, version, plural, namespace, name }) => {
    const resource = client.resource({ group, version, resource: plural, namespaced: namespace !== undefined });
    if (name === undefined) await resource.list({ namespace });
    else await resource.get({ namespace, name });
  };
}

function clientNode(server: string): Asking {
  const config = new KubeConfig();
  const caData = Buffer.from(plan.ca).toString("base64");
  config.loadFromClusterAndUser(
    { name: "cluster", server, caData, skipTLSVerify: false },
    { name: "user", token: plan.token },
  );
  withEvenkeel(config, { ifReadyHeader: true });
  const core = config.makeApiClient(CoreV1Api);
  const custom = config.makeApiClient(CustomObjectsApi);
  return async ({ group, version, plural, namespace, name }) => {
    if (group !== "") {
      if (name === undefined) await custom.listClusterCustomObject({ group, version, plural });
      else await custom.getClusterCustomObject({ group, version, plural, name });
    } else if (plural === "namespaces") await core.readNamespace({ name: name! });
    else if (plural === "configmaps") await core.readNamespacedConfigMap({ namespace: namespace!, name: name! });
    else if (plural === "services") await core.readNamespacedService({ namespace: namespace!, name: name! });
    else throw new Error(`client-node does not support ${plural}`);
  };
}
