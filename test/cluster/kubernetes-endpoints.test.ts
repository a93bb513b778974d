/**
 * The endpoints of the kubernetes Service, with servers that have addresses of their own and a client that knows only
 * these endpoints. EVENKEEL_CRASHES sets how many servers are killed, one after the other (default 1).
 */
import { Agent } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { ask } from "../smoke/client.ts";
import { TOKEN } from "../smoke/start-evenkeel.ts";
import { openOwnAddresses, type OwnAddresses } from "./network-namespace.ts";
import { openRelay } from "./packet-drop.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

const ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes";
const PORT = 6443;
const CRASHES = Number(process.env["EVENKEEL_CRASHES"] ?? 1);
/** The documented limit is 20 s; a busy machine may need longer. */
const DEADLINE_MS = 60_000;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

/** Reads the endpoints through the addresses of the last response, as a client in the cluster does. */
class EndpointsClient {
  readonly #ca: string;
  readonly #agent = new Agent();
  #addresses: readonly string[];
  requests = 0;
  /** Requests that failed at every address. */
  failures = 0;

  constructor(ca: string, addresses: readonly string[]) {
    this.#ca = ca;
    this.#addresses = addresses;
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Reads the endpoints once, from the first address that responds. */
  async read(): Promise<void> {
    this.requests++;
    for (const address of this.#addresses) {
      const target = { url: `https://${address}:${PORT}`, port: PORT, ca: this.#ca, token: TOKEN, agent: this.#agent };
      const response = await ask(target, { method: "GET", path: ENDPOINTS }).catch(() => undefined);
      if (response?.status !== 200) continue;
      const { subsets = [] } = response.body as { subsets?: { addresses: { ip: string }[] }[] };
      this.#addresses = subsets.flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
      return;
    }
    this.failures++;
  }

  /** Reads until the endpoints have exactly these addresses; returns the time in ms. */
  async until(wanted: readonly string[]): Promise<number> {
    const startedAt = performance.now();
    const isWanted = (): boolean => JSON.stringify(this.#addresses) === JSON.stringify([...wanted].sort());
    do {
      await this.read();
      if (!isWanted()) await new Promise((resolve) => setTimeout(resolve, 100));
    } while (!isWanted() && performance.now() - startedAt < DEADLINE_MS);
    if (!isWanted()) throw new Error(`the endpoints are ${this.#addresses.join(", ")}, not ${wanted.join(", ")}`);
    return performance.now() - startedAt;
  }
}

describe.skipIf(isMissing)("the endpoints of the kubernetes Service", { timeout: 300_000 }, () => {
  let network: OwnAddresses | undefined;
  let why = "";
  beforeAll(async () => {
    const opened = await openOwnAddresses(3);
    if (typeof opened === "string") why = opened;
    else network = opened;
  });
  afterAll(() => network?.[Symbol.asyncDispose]());

  test("follow a rolling restart and crashes, for a client that uses only their addresses", async (context) => {
    if (network === undefined) {
      console.warn(why);
      context.skip(why);
      return;
    }
    const { near, far, wrapper } = network;
    await using cluster = await openCluster(far);
    await using relay = await openRelay(near, cluster.etcd.endpoint);
    const releases = ["1.35", "1.36", "1.36"];
    const start = (index: number): Promise<Member> =>
      startAt(cluster, { address: far[index]!, release: releases[index]!, etcd: relay.endpoint, wrapper });
    const members = await Promise.all(far.map((_, index) => start(index)));
    const client = new EndpointsClient(cluster.ca, far);
    await client.until(far);
    for (const [index, member] of members.entries()) {
      const stopped = member.stop();
      await client.until(far.filter((address) => address !== far[index]));
      await stopped;
      members[index] = await start(index);
      await client.until(far);
    }
    expect(client.failures, `of ${client.requests} requests during the rolling restart`).toBe(0);
    const removed: number[] = [];
    for (let index = 0; index < CRASHES; index++) {
      await members[index % members.length]!.kill9();
      removed.push(await client.until(far.filter((address) => address !== far[index % far.length])));
      members[index % members.length] = await start(index % far.length);
      await client.until(far);
    }
    console.info(`addresses of crashed servers were removed after ${removed.map(Math.round).join(", ")} ms`);
    expect(client.failures, `of ${client.requests} requests`).toBe(0);
  });
});

function startAt(
  cluster: Cluster,
  at: { address: string; release: string; etcd: string; wrapper: readonly string[] },
): Promise<Member> {
  const id = `server-${at.address.split(".").at(-1)}`;
  // The delay lets clients read the endpoints again before the server rejects requests.
  return cluster.start({ ...at, id, port: PORT, flags: ["--shutdown-delay-duration", "2s"] });
}
