import { describe, expect, test } from "vitest";
import { sleep } from "../../base/clock.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { createClient } from "../../client/client.ts";
import { alreadyExists, conflict, serviceUnavailable } from "../../meta/status-error.ts";
import { World } from "../../tools/simulator/world.ts";
import type { StoredResourceVersions } from "./encodings.ts";
import type { ServerStorageVersion } from "./objects.ts";
import { Publisher } from "./publisher.ts";
import { FakeMembers } from "../../../test/testing/cluster/storageversion/fake-members.ts";
import { FakeStorageVersions } from "../../../test/testing/cluster/storageversion/fake-storage-versions.ts";

const SELF = "server-1";
const GROUP = { group: "internal.apiserver.k8s.io", resource: "storageversions" };

function resource(name: string, decodable: readonly string[] = ["v2", "v1"]): StoredResourceVersions {
  const [group = "", plural = ""] = name.split(".");
  return {
    ...{ name, group, resource: plural, aliases: [{ group, resource: plural }] },
    ...{ preferred: decodable[0]!, decodable, served: [decodable[0]!], isNeededToPublish: false },
  };
}

const FOOS = "g.foos";
const OWN = { apiServerID: SELF, encodingVersion: "v2", decodableVersions: ["v2", "v1"], servedVersions: ["v2"] };

function entry(apiServerID: string, encodingVersion: string, decodableVersions: string[]): ServerStorageVersion {
  return { apiServerID, encodingVersion, decodableVersions, servedVersions: [] };
}

const OWN_ELSEWHERE = { ...entry("server-2", "resource.k8s.io/v1", ["resource.k8s.io/v1"]), servedVersions: ["v1"] };

class Publishing {
  readonly world = new World({ seed: 3 });
  readonly api = new FakeStorageVersions(this.world.clock);
  readonly members: FakeMembers;
  readonly published: string[] = [];
  readonly logged: string[] = [];
  readonly publisher: Publisher;
  readonly stop = new AbortController();
  withheldBecause: string | undefined;
  readonly running: Promise<void>;
  readonly all: Promise<void>;

  constructor(
    options: {
      members?: readonly string[];
      resources?: readonly StoredResourceVersions[];
      before?: (api: FakeStorageVersions) => void;
    } = {},
  ) {
    const { members = [SELF], resources = [resource(FOOS)] } = options;
    this.members = new FakeMembers(...members);
    options.before?.(this.api);
    const { clock } = this.world;
    const tell = (message: string): void => void this.logged.push(message);
    this.publisher = new Publisher({
      client: createClient({
        transport: this.api,
        clock,
        random: this.world.randomFor("client"),
        defaults: { retriesMax: 0 },
      }),
      ...{ members: this.members, clock, random: this.world.randomFor("queue"), metrics: new MetricsRegistry() },
      log: { debug: tell, info: tell, warn: tell, error: tell },
      ...{ serverId: SELF, resources },
      withheldBecause: () => this.withheldBecause,
      onPublished: (name) => void this.published.push(name),
    });
    this.running = this.publisher.run(this.stop.signal);
    this.all = this.publisher.publishAll(this.stop.signal);
  }

  /** The entries as "server=version", followed by the common version and the condition. */
  get story(): string {
    const { storageVersions = [], commonEncodingVersion, conditions = [] } = this.api.statusOf(FOOS) ?? {};
    const entries = storageVersions.map(({ apiServerID, encodingVersion }) => `${apiServerID}=${encodingVersion}`);
    return [...entries, commonEncodingVersion ?? "none", ...conditions.map(({ status }) => status)].join(" ");
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.world.run(this.running);
  }
}

describe("at the start", () => {
  test("an object is created and then filled for every resource, and onPublished is called for each", async () => {
    const publishing = new Publishing({ resources: [resource("g.bars"), resource(FOOS)] });
    await publishing.world.run(publishing.all);
    expect(publishing.api.writes.sort()).toEqual(["POST", "POST", "PUT g.bars/status", "PUT g.foos/status"]);
    expect(publishing.api.statusOf(FOOS)).toMatchObject({ storageVersions: [OWN], commonEncodingVersion: "v2" });
    expect(publishing.published.sort()).toEqual(["g.bars", "g.foos"]);
    expect(publishing.publisher.isComplete).toBe(true);
    await publishing.end();
  });

  test("a correct entry is not written again", async () => {
    const publishing = new Publishing({ before: (api) => api.put(FOOS, { storageVersions: [OWN] }) });
    await publishing.world.run(publishing.all);
    expect(publishing.api.writes).toEqual([]);
    expect(publishing.published).toEqual([FOOS]);
    await publishing.end();
  });

  test("the entry of an earlier run is replaced in its position, entries of live servers stay, and stale ones are dropped in the same write", async () => {
    const publishing = new Publishing({
      members: ["server-0", SELF],
      before: (api) =>
        api.put(FOOS, {
          storageVersions: [
            entry("server-0", "v1", ["v2", "v1"]),
            entry(SELF, "v1", ["v1"]),
            entry("server-9", "v1", ["v1"]),
          ],
        }),
    });
    await publishing.world.run(publishing.all);
    expect(publishing.api.writes).toEqual(["PUT g.foos/status"]);
    expect(publishing.story).toBe("server-0=v1 server-1=v2 none False");
    await publishing.end();
  });

  test("the entry that an earlier run left for a resource that is no longer stored here is removed", async () => {
    const publishing = new Publishing({
      members: ["server-0", SELF],
      resources: [resource("g.bars")],
      before: (api) => api.put(FOOS, { storageVersions: [entry("server-0", "v1", ["v1"]), OWN] }),
    });
    await publishing.world.run(publishing.all);
    await publishing.world.advance(1_000);
    expect(publishing.story).toBe("server-0=v1 v1 True");
    expect(publishing.published).toEqual(["g.bars"]);
    await publishing.end();
  });

  test("no entry is dropped while the live servers are unknown", async () => {
    const publishing = new Publishing({
      before: (api) => api.put(FOOS, { storageVersions: [entry("server-9", "v2", ["v2"])] }),
    });
    publishing.members.view = "unknown";
    await publishing.world.advance(3_000);
    expect(publishing.published).toEqual([]);
    expect(publishing.publisher.lastError(FOOS)).toContain("the live servers are unknown");
    // Server 9 is live; only its lease had not been seen yet.
    publishing.members.join("server-9");
    await publishing.world.run(publishing.all);
    expect(publishing.story).toBe("server-1=v2 server-9=v2 v2 True");
    await publishing.end();
  });

  test("a server that has not published yet makes the condition Unknown", async () => {
    const publishing = new Publishing({ members: [SELF, "-server-2"] });
    await publishing.world.run(publishing.all);
    expect(publishing.story).toBe("server-1=v2 none Unknown");
    await publishing.end();
  });

  test("a newer version is not written while another server cannot read it", async () => {
    const publishing = new Publishing({
      members: [SELF, "server-2"],
      before: (api) => api.put(FOOS, { storageVersions: [entry("server-2", "v1", ["v1"])] }),
    });
    await publishing.world.run(publishing.all);
    expect(publishing.story).toBe("server-1=v1 server-2=v1 v1 True");
    await publishing.end();
  });
});

describe("conflicts and errors", () => {
  test("after a conflict the write is repeated with the current object", async () => {
    const publishing = new Publishing({ members: [SELF, "server-2"] });
    let races = 0;
    publishing.api.before = (asked) => {
      if (asked === "PUT g.foos/status" && races++ < 2) {
        publishing.api.put(FOOS, { storageVersions: [entry("server-2", "v1", ["v2", "v1"])] });
        throw conflict(GROUP, FOOS, "modified");
      }
      if (asked === "POST" && races === 0) {
        races++;
        publishing.api.put(FOOS, {});
        throw alreadyExists(GROUP, FOOS);
      }
    };
    await publishing.world.run(publishing.all);
    expect(publishing.story).toBe("server-1=v2 server-2=v1 none False");
    await publishing.end();
  });

  test("an object that was created but could not be filled is filled later", async () => {
    const publishing = new Publishing();
    let failures = 0;
    publishing.api.before = (asked) => {
      if (asked === "PUT g.foos/status" && failures++ < 3) throw serviceUnavailable("not now", 1);
    };
    await publishing.world.advance(1);
    expect(publishing.api.statusOf(FOOS)).toEqual({});
    expect(publishing.publisher.lastError(FOOS)).toBe("not now");
    expect(publishing.published).toEqual([]);
    await publishing.world.run(publishing.all);
    expect(publishing.api.writes.filter((write) => write === "POST")).toHaveLength(1);
    expect(publishing.publisher.lastError(FOOS)).toBeUndefined();
    await publishing.end();
  });

  test("a resource that fails does not block the others, and is retried every few seconds", async () => {
    const publishing = new Publishing({ resources: [resource(FOOS), resource("g.bars")] });
    let failures = 0;
    publishing.api.before = (asked) => {
      if (asked.includes("g.foos")) {
        failures++;
        throw serviceUnavailable("not now", 1);
      }
    };
    await publishing.world.advance(60_000);
    expect(publishing.published).toEqual(["g.bars"]);
    expect(publishing.publisher.isComplete).toBe(false);
    expect(failures).toBeGreaterThan(12);
    publishing.api.before = () => {};
    await publishing.world.advance(6_000);
    expect(publishing.publisher.isComplete).toBe(true);
    await publishing.end();
  });

  test("a conflict that never ends is an error like any other, and the attempts end with the server", async () => {
    const publishing = new Publishing();
    publishing.api.before = (asked) => {
      if (asked.startsWith("PUT")) throw conflict(GROUP, FOOS, "modified");
    };
    await publishing.world.advance(10_000);
    expect(publishing.publisher.lastError(FOOS)).toBe("other servers keep changing it");
    await publishing.end();
    await publishing.world.run(publishing.all);
  });

  test("a server publishes nothing while its entries are withheld, and everything afterwards", async () => {
    const publishing = new Publishing();
    publishing.withheldBecause = "duplicate server ID";
    await publishing.world.advance(5_000);
    expect(publishing.api.writes).toEqual([]);
    publishing.withheldBecause = undefined;
    await publishing.world.advance(5_000);
    expect(publishing.api.writes).not.toEqual([]);
    await publishing.end();
  });
});

describe("the entry of this server", () => {
  test.each([
    ["a removal", (api: FakeStorageVersions) => api.put(FOOS, {})],
    ["a change", (api: FakeStorageVersions) => api.put(FOOS, { storageVersions: [{ ...OWN, encodingVersion: "v1" }] })],
    ["a deletion of its object", (api: FakeStorageVersions) => api.remove(FOOS)],
  ])("is restored after %s", async (_, change) => {
    const publishing = new Publishing();
    await publishing.world.run(publishing.all);
    change(publishing.api);
    await publishing.world.advance(1_000);
    expect(publishing.story).toBe("server-1=v2 v2 True");
    await publishing.end();
  });

  test("is restored even if it was removed while this server was checking it", async () => {
    const before = (api: FakeStorageVersions): void =>
      api.put(FOOS, { storageVersions: [OWN, entry("server-9", "v2", ["v2"])] });
    const publishing = new Publishing({ before });
    publishing.members.catchUp = async () => {
      publishing.api.put(FOOS, {});
      return sleep(publishing.world.clock, 100);
    };
    await publishing.world.run(publishing.all);
    await publishing.world.advance(1_000);
    expect(publishing.story).toBe("server-1=v2 v2 True");
    await publishing.end();
  });

  test.each([
    ["is removed", (api: FakeStorageVersions) => api.put(FOOS, {})],
    ["is deleted with its object", (api: FakeStorageVersions) => api.remove(FOOS)],
  ])("that %s after every write is restored with increasing delays", async (_, drop) => {
    const publishing = new Publishing();
    await publishing.world.run(publishing.all);
    let drops = 0;
    publishing.api.before = (asked) => {
      if (asked.startsWith("PUT") && drops++ < 1_000) queueMicrotask(() => drop(publishing.api));
    };
    drop(publishing.api);
    await publishing.world.advance(60_000);
    expect(drops).toBeGreaterThan(10);
    expect(drops).toBeLessThan(30);
    publishing.api.before = () => {};
    await publishing.world.advance(6_000);
    expect(publishing.story).toBe("server-1=v2 v2 True");
    await publishing.end();
  });

  test("switches to a version that a joining server can read, and back after the departure of that server", async () => {
    const publishing = new Publishing({ members: [SELF, "server-2"] });
    await publishing.world.run(publishing.all);
    publishing.api.put(FOOS, { storageVersions: [OWN, entry("server-2", "v1", ["v1"])] });
    await publishing.world.advance(1_000);
    expect(publishing.story).toBe("server-1=v1 server-2=v1 v1 True");
    publishing.api.put(FOOS, { storageVersions: [{ ...OWN, encodingVersion: "v1" }] });
    await publishing.world.advance(1_000);
    expect(publishing.story).toBe("server-1=v2 v2 True");
    await publishing.end();
  });

  test("keeps the version of the release if no version can be read by all servers", async () => {
    const publishing = new Publishing({ members: [SELF, "server-2"] });
    await publishing.world.run(publishing.all);
    publishing.api.put(FOOS, { storageVersions: [OWN, entry("server-2", "v0", ["v0"])] });
    await publishing.world.advance(1_000);
    expect(publishing.story).toContain("server-1=v2 server-2=v0");
    await publishing.end();
  });

  test("is checked again by publishAll, which writes nothing if it is correct", async () => {
    const publishing = new Publishing();
    await publishing.world.run(publishing.all);
    expect(publishing.published).toEqual([FOOS]);
    await publishing.world.run(publishing.publisher.publishAll(publishing.stop.signal));
    expect(publishing.published).toEqual([FOOS, FOOS]);
    expect(publishing.api.writes).toEqual(["POST", "PUT g.foos/status"]);
    await publishing.end();
  });
});

describe("beside a kube-apiserver that publishes no entries", () => {
  const NAME = "resource.k8s.io.deviceclasses";
  const classes: StoredResourceVersions = {
    ...resource(NAME, ["resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"]),
    ...{ group: "resource.k8s.io", resource: "deviceclasses" },
  };
  const encodings = (publishing: Publishing): string[] =>
    (publishing.api.statusOf(NAME)?.storageVersions ?? []).map(
      ({ apiServerID, encodingVersion }) => `${apiServerID} ${encodingVersion}`,
    );

  test("a server publishes the entry of the kube-apiserver, and names in its own one a version that the kube-apiserver can read", async () => {
    const publishing = new Publishing({ resources: [classes] });
    await publishing.world.run(publishing.all);
    expect(encodings(publishing)).toEqual([`${SELF} resource.k8s.io/v1`]);
    publishing.members.joinKube("kube", "1.33");
    await publishing.world.advance(1_000);
    expect(encodings(publishing)).toEqual(["kube resource.k8s.io/v1beta1", `${SELF} resource.k8s.io/v1beta2`]);
    const { length } = publishing.api.writes;
    publishing.members.joinKube("kube", "1.33");
    await publishing.world.advance(60_000);
    expect(publishing.api.writes).toHaveLength(length);
    publishing.members.joinKube("kube", "1.36");
    await publishing.world.advance(1_000);
    expect(encodings(publishing)).toEqual(["kube resource.k8s.io/v1", `${SELF} resource.k8s.io/v1`]);
    await publishing.end();
  });

  test("an implied entry that another server removes after every write is repeated after growing waits, and settles with the servers' views", async () => {
    const publishing = new Publishing({ resources: [classes] });
    await publishing.world.run(publishing.all);
    const remove = (): void => {
      const { storageVersions = [] } = publishing.api.statusOf(NAME) ?? {};
      publishing.api.put(NAME, { storageVersions: storageVersions.filter(({ apiServerID }) => apiServerID === SELF) });
    };
    const writtenAt: number[] = [];
    publishing.api.before = (asked) => {
      if (!asked.startsWith("PUT") || writtenAt.length === 1_000) return;
      writtenAt.push(Math.round(publishing.world.clock.monotonic() / 1000));
      queueMicrotask(remove);
    };
    publishing.members.joinKube("kube", "1.33");
    await publishing.world.advance(60_000);
    expect(writtenAt).toEqual([0, 0, 1, 3, 7, 15, 31]);
    expect(encodings(publishing)).toEqual([`${SELF} resource.k8s.io/v1beta2`]);
    publishing.members.leave("kube");
    await publishing.world.advance(1_000);
    expect(encodings(publishing)).toEqual([`${SELF} resource.k8s.io/v1`]);
    publishing.api.before = () => {};
    publishing.members.joinKube("kube", "1.33");
    await publishing.world.advance(1_000);
    expect(encodings(publishing)).toEqual(["kube resource.k8s.io/v1beta1", `${SELF} resource.k8s.io/v1beta2`]);
    await publishing.end();
  });

  test("a server does not write the object of a resource that it does not store", async () => {
    const publishing = new Publishing({ before: (api) => api.put(NAME, { storageVersions: [OWN_ELSEWHERE] }) });
    await publishing.world.run(publishing.all);
    const { length } = publishing.api.requests;
    publishing.members.join("server-2");
    publishing.members.joinKube("kube", "1.33");
    publishing.api.put(NAME, { storageVersions: [OWN_ELSEWHERE], conditions: [] });
    await publishing.world.advance(60_000);
    expect(publishing.api.requests.slice(length).filter((asked) => asked.includes(NAME))).toEqual([]);
    await publishing.end();
  });
});
