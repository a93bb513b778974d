/** The load generator: holds named connections, runs request loops on them, and reports their durations. */
import { quantile } from "../statistics.ts";
import { openHttp1, type Requester } from "./http1.ts";
import { openHttp2 } from "./http2.ts";
import { PacedLoad } from "./paced.ts";
import type { Reply, Command, FanOutResult, PacedResult, RunResult } from "./protocol.ts";
import { Watchers } from "./watchers.ts";

type Of<Kind extends Command["kind"]> = Extract<Command, { kind: Kind }>;

const pools = new Map<string, readonly Requester[]>();
const paces = new Map<string, PacedLoad>();
const watches = new Map<string, Watchers>();

async function open({ name, protocol, connections, token, ...endpoint }: Of<"open">): Promise<void> {
  const openOne = protocol === "h2" ? openHttp2 : openHttp1;
  pools.set(name, await Promise.all(Array.from({ length: connections }, () => openOne(endpoint, token))));
}

function pool(name: string): readonly Requester[] {
  const found = pools.get(name);
  if (found === undefined) throw new Error(`no connections named ${name}`);
  return found;
}

async function run({ name, request, count, concurrency, firstNumber, numbers }: Of<"run">): Promise<RunResult> {
  const requesters = pool(name);
  const latencies = new Float64Array(count);
  let bytes = 0;
  let next = 0;
  const loop = async (requester: Requester): Promise<void> => {
    while (next < count) {
      const index = next++;
      const started = performance.now();
      const answered = await requester.send(request, firstNumber + (index % numbers));
      latencies[index] = performance.now() - started;
      bytes += answered.bytes;
      if (answered.status !== request.expectStatus)
        throw new Error(`${request.method} ${request.path} returned ${answered.status}`);
    }
  };
  const sleepAgain = stayAwake();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, (_, index) => loop(requesters[index % requesters.length]!)),
  ).finally(sleepAgain);
  return timed(started, latencies, bytes);
}

/**
 * Keeps the client from sleeping. The kernel charges the work of waking a process to the process that sends to it.
 * Without this, a slow server would find the client asleep more often than a fast one, and pay up to twice as much CPU
 * time for the same response.
 */
function stayAwake(): () => void {
  let isAwake = true;
  const look = (): void => {
    if (isAwake) setImmediate(look);
  };
  look();
  return () => {
    isAwake = false;
  };
}

function timed(started: number, latencies: Float64Array, bytes: number): RunResult {
  const wallMs = performance.now() - started;
  const sorted = latencies.toSorted();
  return { wallMs, p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99), bytes };
}

function endPace(name: string): Promise<PacedResult> {
  const load = paces.get(name);
  if (load === undefined) throw new Error(`no open loop is running on ${name}`);
  paces.delete(name);
  return load.finish();
}

async function fanOut({ watchers, trigger, request, events, firstNumber }: Of<"fan-out">): Promise<FanOutResult> {
  const watching = watches.get(watchers);
  if (watching === undefined) throw new Error(`no watches named ${watchers}`);
  const [requester] = pool(trigger);
  const latencies = new Float64Array(events);
  const bytesBefore = watching.bytes;
  const started = performance.now();
  for (let index = 0; index < events; index++) {
    const sent = performance.now();
    const arrived = watching.nextEvent();
    const [answered] = await Promise.all([requester!.send(request, firstNumber + index), arrived]);
    latencies[index] = performance.now() - sent;
    if (answered.status !== request.expectStatus)
      throw new Error(`${request.method} ${request.path} returned ${answered.status}`);
  }
  return { ...timed(started, latencies, watching.bytes - bytesBefore), event: watching.lastEvent };
}

function close(name: string): void {
  for (const requester of pools.get(name) ?? []) requester.close();
  watches.get(name)?.close();
  pools.delete(name);
  watches.delete(name);
}

async function perform(command: Command): Promise<unknown> {
  switch (command.kind) {
    case "open":
      return open(command);
    case "run":
      return run(command);
    case "begin-pace":
      paces.set(command.name, new PacedLoad(pool(command.name), command));
      return undefined;
    case "end-pace":
      return endPace(command.name);
    case "fetch":
      return pool(command.name)[0]!.fetch(command.request, 0);
    case "watch":
      watches.set(command.name, await Watchers.open(command));
      return undefined;
    case "fan-out":
      return fanOut(command);
    case "close":
      return close(command.name);
  }
}

process.on("message", (command: Command) => {
  const reply = (response: Reply): void => void process.send!(response);
  perform(command).then(
    (value) => reply({ ok: true, value }),
    (thrown: unknown) => reply({ ok: false, error: thrown instanceof Error ? thrown.message : String(thrown) }),
  );
});
process.on("disconnect", () => process.exit(0));
