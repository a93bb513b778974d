/**
 * Tests of custom resources in a cluster of several servers: a CRD that is created through one server is served by all
 * servers immediately, and every object is written in a version on which the servers agree.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { ask, type SmokeResponse, type Json } from "../smoke/client.ts";
import { openFollowedStore, type FollowedStore } from "./watched-store.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";
import { unagreedWrites } from "./unagreed-writes.ts";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = "shapes.example.com";
/** EVENKEEL_ROUNDS=1000 takes a minute or two. */
const ROUNDS = Number(process.env["EVENKEEL_ROUNDS"] ?? 100);
const FLIPS = Number(process.env["EVENKEEL_FLIPS"] ?? 20);
const WRITERS = 4;
/** The number of rounds that run at the same time, so that the test would detect a server that confuses their CRDs. */
const AT_ONCE = 8;
const FLIP_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 60_000;
const ROUNDS_TIMEOUT_MS = 600_000;

function definition(plural: string, versions: readonly string[], storage: string): Json {
  const kind = plural[0]!.toUpperCase() + plural.slice(1);
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Cluster",
      names: { plural, kind },
      versions: versions.map((name) => ({ name, served: true, storage: name === storage, schema })),
    },
  };
}

describe.skipIf(isMissing)("with three servers of two releases on one etcd,", () => {
  let cluster: Cluster;
  let members: Member[];

  beforeAll(async () => {
    cluster = await openCluster();
    const releases = ["1.35", "1.36", "1.36"];
    members = await Promise.all(releases.map((release, index) => cluster.start({ id: `server-${index}`, release })));
  }, START_TIMEOUT_MS);

  afterAll(() => cluster[Symbol.asyncDispose]());

  const through = (index: number): Member => members[index % members.length]!;

  /** Creates the CRD through one server, and immediately afterwards lists and creates objects through each server. */
  async function round(number: number): Promise<SmokeResponse[]> {
    const plural = `r${number}`;
    const path = `/apis/${GROUP}/v1/${plural}`;
    const made = await ask(through(number), {
      method: "POST",
      path: DEFINITIONS,
      body: definition(plural, ["v1"], "v1"),
    });
    expect(made.status, made.text).toBe(201);
    const kind = made.body.spec.names.kind as string;
    const responses: SmokeResponse[] = [];
    for (const other of [1, 2, 3]) {
      const server = through(number + other);
      const name = `o${other}`;
      const body = { apiVersion: `${GROUP}/v1`, kind, metadata: { name }, spec: { number } };
      responses.push(await ask(server, { method: "GET", path }));
      responses.push(await ask(server, { method: "POST", path, body }));
      responses.push(await ask(through(number + other + 1), { method: "GET", path: `${path}/${name}` }));
    }
    const gone = await ask(through(number + 1), { method: "DELETE", path: `${DEFINITIONS}/${plural}.${GROUP}` });
    expect(gone.status, gone.text).toBe(200);
    return responses;
  }

  test(
    `a CRD that is created through one server is served by the other servers immediately: ${ROUNDS} rounds without a 404`,
    async () => {
      const counts = new Map<number, number>();
      for (let first = 0; first < ROUNDS; first += AT_ONCE) {
        const rounds = Array.from({ length: AT_ONCE }, (_, offset) => round(first + offset));
        for (const response of (await Promise.all(rounds)).flat()) {
          counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
          if (response.status === 503) expect(response.headers["retry-after"], response.text).toBeDefined();
          else expect([200, 201], response.text).toContain(response.status);
        }
      }
      console.log(`responses by status: ${JSON.stringify(Object.fromEntries(counts))}`);
      expect(counts.get(404) ?? 0).toBe(0);
      expect(counts.get(201) ?? 0).toBeGreaterThan(ROUNDS);
    },
    ROUNDS_TIMEOUT_MS,
  );

  /** Changes the storage version of the CRD, and adds the version if the CRD does not have it. */
  async function flip(plural: string, storage: string): Promise<void> {
    const path = `${DEFINITIONS}/${plural}.${GROUP}`;
    for (;;) {
      const { body } = await ask(through(0), { method: "GET", path });
      const [first] = body.spec.versions;
      const known = body.spec.versions.some(({ name }: Json) => name === storage);
      const versions = known ? body.spec.versions : [...body.spec.versions, { ...first, name: storage }];
      body.spec.versions = versions.map((version: Json) => ({ ...version, storage: version.name === storage }));
      const { status, text } = await ask(through(1), { method: "PUT", path, body });
      if (status === 200) return;
      // A controller of the servers changed the CRD first, so the change is retried.
      expect(status, text).toBe(409);
    }
  }

  async function write(plural: string, index: number, isOver: () => boolean): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    for (let number = 0; !isOver(); number++) {
      const server = through(index + number);
      const name = `w${index}-${number}`;
      const body = { apiVersion: `${GROUP}/v1`, kind: "Flipped", metadata: { name }, spec: { writer: server.id } };
      const response = await ask(server, { method: "POST", path: `/apis/${GROUP}/v1/${plural}`, body });
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
      if (response.status === 503) expect(response.headers["retry-after"], response.text).toBeDefined();
      else expect(response.status, response.text).toBe(201);
    }
    return counts;
  }

  test(
    `${FLIPS} changes of the storage version under ${WRITERS} writers: every object is written in a version on which the servers agree`,
    async () => {
      await using store: FollowedStore = await openFollowedStore(cluster.etcd.endpoint);
      const plural = "flipped";
      await ask(through(0), { method: "POST", path: DEFINITIONS, body: definition(plural, ["v1"], "v1") });
      let isOver = false;
      const writers = Array.from({ length: WRITERS }, (_, index) => write(plural, index, () => isOver));
      const prefix = `${GROUP}/${plural}/`;
      let versions = 1;
      for (let number = 1; number <= FLIPS; number++) {
        const version = number % 2 === 1 ? `v${++versions}` : `v${1 + (number % versions)}`;
        await flip(plural, version);
        const isWritten = (): boolean =>
          store.commits.some(
            ({ key, after }) => key.startsWith(prefix) && after?.["apiVersion"] === `${GROUP}/${version}`,
          );
        await store.until(isWritten, AbortSignal.timeout(FLIP_TIMEOUT_MS));
        expect(isWritten(), `after flip ${number} nothing was written in ${version}`).toBe(true);
      }
      isOver = true;
      const counts = await Promise.all(writers);
      const found = unagreedWrites(store.commits, { prefix, name: `${GROUP}.${plural}` });
      console.log(
        `${found.writes} writes in ${found.versions} versions, statuses ${JSON.stringify(counts.map((one) => [...one]))}`,
      );
      expect(store.failures).toEqual([]);
      expect(found.problems).toEqual([]);
      expect(found.writes).toBeGreaterThan(FLIPS);
    },
    ROUNDS_TIMEOUT_MS,
  );
});
