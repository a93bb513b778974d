/**
 * A load generator with keep-alive connections, in its own process so that nothing else delays it. It takes a LoadPlan
 * on its command line and writes one LoadResponse per line. After SIGTERM it ends when all requests are complete.
 */
import { Agent } from "node:https";
import { ask, type Json, type Target } from "../smoke/client.ts";
import { responseParts, type LoadResponse, type LoadPlan, type LoadResource } from "./load.ts";

/**
 * While this many requests to a server are in flight, the process skips further requests, because the server does not
 * respond.
 */
const IN_FLIGHT_MAX = 100;
/** One in this many requests for a resource creates an object, and a later request deletes it. */
const WRITE_EVERY = 10;
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const plan = JSON.parse(process.argv[2]!) as LoadPlan;
const stopping = new AbortController();
process.on("SIGTERM", () => stopping.abort());
// Ends the process when the process that reads its output has ended.
process.stdout.on("error", () => process.exit(1));

for (const server of plan.servers) {
  const target = { ...server, ca: plan.ca, token: plan.token, agent: new Agent({ keepAlive: true }) };
  startRequests(server.id, target);
  if (plan.discoveryEveryMs !== undefined) startDiscovery(server.id, target, plan.discoveryEveryMs);
}

/** Calls `send` at a constant rate, even if timers are late, but skips calls while too many requests are in flight. */
function every(milliseconds: number, send: () => Promise<void>): void {
  const startedAt = performance.now();
  let inFlight = 0;
  let due = 0;
  const tick = (): void => {
    for (; due * milliseconds <= performance.now() - startedAt; due++) {
      if (inFlight >= IN_FLIGHT_MAX) continue;
      inFlight++;
      void send().finally(() => inFlight--);
    }
  };
  const timer = setInterval(tick, milliseconds);
  stopping.signal.addEventListener("abort", () => clearInterval(timer));
}

function startRequests(server: string, target: Target): void {
  const turns = plan.resources.map((resource) => requestsOf(server, target, resource));
  let turn = 0;
  every(1000 / plan.perSecond, () => turns[turn++ % turns.length]!());
}

function requestsOf(server: string, target: Target, resource: LoadResource): () => Promise<void> {
  const created: string[] = [];
  let count = 0;
  return async () => {
    const number = count++;
    const phase = number % WRITE_EVERY;
    const name = `${server}-${process.pid}-${number}`;
    const doomed = phase === WRITE_EVERY / 2 ? created.shift() : undefined;
    if (phase === 0) {
      const body = { ...resource.object, metadata: { name } };
      const status = await record({ server, target, resource, operation: "create", name, path: resource.path, body });
      if (status === 201) created.push(name);
    } else if (doomed !== undefined) {
      const path = `${resource.path}/${doomed}`;
      await record({ server, target, resource, operation: "delete", name: doomed, path });
    } else await record({ server, target, resource, operation: "list", path: `${resource.path}?limit=5` });
  };
}

interface Recording {
  readonly server: string;
  readonly target: Target;
  readonly resource: LoadResource;
  readonly operation: keyof typeof METHODS;
  readonly name?: string;
  readonly path: string;
  readonly body?: Json;
}

const METHODS = { list: "GET", create: "POST", delete: "DELETE" } as const;

async function record({ server, target, resource, operation, name, path, body }: Recording): Promise<number> {
  const sentAt = Date.now();
  const about = { server, resource: resource.name, operation, name, sentAt };
  try {
    const response = await ask(target, { method: METHODS[operation], path, body });
    write({ ...about, ...responseParts(response), answeredAt: Date.now() });
    return response.status;
  } catch (thrown) {
    write({ ...about, status: 0, answeredAt: Date.now(), message: String(thrown) });
    return 0;
  }
}

function startDiscovery(server: string, target: Target, milliseconds: number): void {
  every(milliseconds, async () => {
    const about = { server, resource: "", operation: "discovery", sentAt: Date.now() } as const;
    try {
      const { status, body } = await ask(target, { method: "GET", path: "/apis", headers: { accept: AGGREGATED } });
      const groupVersions = body.items.flatMap((group: Json) =>
        group.versions.map(({ version }: Json) => `${group.metadata.name}/${version}`),
      );
      write({ ...about, status, answeredAt: Date.now(), groupVersions });
    } catch (thrown) {
      write({ ...about, status: 0, answeredAt: Date.now(), message: String(thrown) });
    }
  });
}

function write(answer: LoadResponse): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
