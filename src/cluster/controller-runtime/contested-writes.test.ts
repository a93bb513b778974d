import { describe, expect, test } from "vitest";
import { SILENT_LOG, type LogFields } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import type { JsonObject } from "../../meta/json.ts";
import { World } from "../../tools/simulator/world.ts";
import { backOffMs, ContestedWrites, WriteBackOff } from "./contested-writes.ts";
import { objectWrite, type ObjectWrite } from "./object-write.ts";

const AT = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
const MINUTE_MS = 60_000;

function put(data: string): ObjectWrite {
  return objectWrite({ method: "PUT", target: AT, body: { metadata: { name: "kube-root-ca.crt" }, data } })!;
}

/** A controller that writes one object, and another client that changes or deletes it. */
class Contest {
  readonly world = new World({ seed: 1 });
  readonly warnings: LogFields[] = [];
  readonly registry = new MetricsRegistry();
  readonly writes = new ContestedWrites({
    clock: this.world.clock,
    log: { ...SILENT_LOG, warn: (_message, fields = {}) => void this.warnings.push(fields) },
    metrics: this.registry,
  });
  object: JsonObject | undefined;
  namespaceUid = "namespace-1";
  #version = 1;

  /** Resolves to the time that the controller must wait; 0 if it has written. */
  async write(write: ObjectWrite): Promise<number> {
    const namespace = { metadata: { uid: this.namespaceUid } };
    try {
      await this.writes.permit(write, (path) => Promise.resolve(path === AT ? this.object : namespace));
    } catch (thrown) {
      if (thrown instanceof WriteBackOff) return thrown.afterMs;
      throw thrown;
    }
    this.overwrite("kube-apiserver");
    this.writes.succeeded(write, this.object as { metadata: JsonObject });
    return 0;
  }

  overwrite(manager: string): void {
    const time = new Date(this.world.clock.now()).toISOString();
    this.object = { metadata: { uid: "1", resourceVersion: `${++this.#version}`, managedFields: [{ manager, time }] } };
  }

  /** Repeats the write until it is sent; returns the time that this took. */
  async insist(write: ObjectWrite): Promise<number> {
    const waitMs = await this.write(write);
    await this.world.advance(waitMs);
    if (waitMs > 0 && (await this.write(write)) > 0) throw new Error("the write must wait again");
    return waitMs;
  }

  count(): number {
    const line = /evenkeel_controller_writes_overwritten_total\{resource="configmaps"\} (\d+)/.exec(
      this.registry.render(),
    );
    return Number(line?.[1] ?? 0);
  }
}

test("the back-off doubles from 1 s to 5 min", () => {
  expect([0, 1, 2, 3, 9, 10, 1_000].map(backOffMs)).toEqual([0, 1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
});

describe("a write that another client overwrites", () => {
  test("is repeated at once the first time, and then after growing waits, with one warning", async () => {
    const contest = new Contest();
    const waits = [];
    for (let round = 0; round < 12; round++) {
      waits.push(await contest.insist(put("a")));
      contest.overwrite("kube-controller-manager");
    }
    expect(waits).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300].map((seconds) => seconds * 1_000));
    expect(contest.warnings).toEqual([
      { object: "configmaps default/kube-root-ca.crt", fieldManager: "kube-controller-manager" },
    ]);
    expect(contest.count()).toBe(11);
  });

  test("is reported while the controller waits, with the name of the other client", async () => {
    const contest = new Contest();
    for (let round = 0; round < 2; round++) {
      await contest.insist(put("a"));
      contest.overwrite("kube-controller-manager");
    }
    expect(contest.writes.waits()).toEqual([]);
    expect(await contest.write(put("a"))).toBe(1_000);
    expect(contest.writes.waits()).toMatchObject([
      {
        kind: "object",
        name: "configmaps default/kube-root-ca.crt",
        because: "kube-controller-manager overwrites it again and again; controllers write it at most every 1 s",
      },
    ]);
    expect(contest.registry.render()).toContain("evenkeel_controller_contested_objects 1");
    await contest.world.advance(1_000);
    expect(await contest.write(put("a"))).toBe(0);
    expect(contest.writes.waits()).toEqual([]);
  });

  test("is repeated at once again after the object stayed as written for a minute", async () => {
    const contest = new Contest();
    for (let round = 0; round < 5; round++) {
      await contest.insist(put("a"));
      contest.overwrite("kubectl");
    }
    await contest.insist(put("a"));
    await contest.world.advance(MINUTE_MS);
    contest.overwrite("kubectl");
    expect(await contest.insist(put("a"))).toBe(0);
    contest.overwrite("kubectl");
    expect(await contest.insist(put("a"))).toBe(0);
    contest.overwrite("kubectl");
    expect(await contest.insist(put("a"))).toBe(1_000);
    expect(contest.warnings).toHaveLength(2);
  });

  test("still waits if the other client overwrites it during the wait", async () => {
    const contest = new Contest();
    for (let round = 0; round < 4; round++) {
      await contest.insist(put("a"));
      contest.overwrite("kubectl");
    }
    expect(await contest.write(put("a"))).toBe(4_000);
    await contest.world.advance(1_000);
    contest.overwrite("kubectl");
    expect(await contest.write(put("a"))).toBe(3_000);
  });
});

describe("no back-off:", () => {
  test("a write of other content", async () => {
    const contest = new Contest();
    for (let round = 0; round < 20; round++) {
      expect(await contest.write(put(`${round % 2}`))).toBe(0);
      contest.overwrite("kube-controller-manager");
    }
    expect(contest.count()).toBe(0);
  });

  test("a write after a change by an API server, such as the usage that admission charges to a quota", async () => {
    const contest = new Contest();
    for (let round = 0; round < 20; round++) {
      expect(await contest.write(put("a"))).toBe(0);
      contest.overwrite("kube-apiserver");
    }
    expect(contest.count()).toBe(0);
  });

  test("a repeated write of an object that nobody has changed", async () => {
    const contest = new Contest();
    for (let round = 0; round < 20; round++) expect(await contest.write(put("a"))).toBe(0);
    expect(contest.count()).toBe(0);
  });
});

describe("an object that another client deletes", () => {
  const body = { metadata: { name: "kube-root-ca.crt", namespace: "default" } };
  const create = objectWrite({ method: "POST", target: AT.slice(0, AT.lastIndexOf("/")), body })!;

  test("is created again at once the first time, and then after growing waits", async () => {
    const contest = new Contest();
    const waits = [];
    for (let round = 0; round < 5; round++) {
      waits.push(await contest.insist(create));
      contest.object = undefined;
    }
    expect(waits).toEqual([0, 0, 1_000, 2_000, 4_000]);
    expect(contest.warnings).toMatchObject([{ fieldManager: "an unknown client that deletes it" }]);
  });

  test("is created at once in a namespace that was deleted and created again", async () => {
    const contest = new Contest();
    for (let round = 0; round < 10; round++) {
      expect(await contest.insist(create)).toBe(0);
      contest.object = undefined;
      contest.namespaceUid = `namespace-${round + 2}`;
    }
    expect(contest.warnings).toEqual([]);
  });
});
