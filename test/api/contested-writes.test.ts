/** Tests that controllers back off from objects that another client keeps overwriting. */
import { describe, expect, test } from "vitest";
import { SILENT_LOG, type Log } from "../../src/base/log.ts";
import { startServer, type Json, type TestServer } from "./start.ts";

const STATUS = "/evenkeel/v1/status";
const CONFIG_MAP = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
const ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default";
const ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/everything";
const POLL_MS = 10;
const MINUTE_MS = 60_000;
/** Writes of a controller within a minute: the first one, a repetition at once, and then after 1, 2, 4, 8 and 16 s. */
const WRITES_PER_MINUTE = 7;

class Fight implements AsyncDisposable {
  readonly api: TestServer;
  readonly warnings: string[];

  private constructor(api: TestServer, warnings: string[]) {
    this.api = api;
    this.warnings = warnings;
  }

  static async begin(controller: string): Promise<Fight> {
    const warnings: string[] = [];
    const warn = (message: string, fields = {}): void => void warnings.push(`${message} ${JSON.stringify(fields)}`);
    const log: Log = { ...SILENT_LOG, warn };
    const rootCa = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n";
    const api = await startServer({ log, rootCa, controllers: [controller] });
    await api.world.advance(2_000);
    return new Fight(api, warnings);
  }

  /** Overwrites the object whenever it is as the controller wants it; returns how often. */
  async during(ms: number, path: string, overwrite: (object: Json) => Promise<boolean>): Promise<number> {
    const { world } = this.api;
    const until = world.clock.monotonic() + ms;
    let count = 0;
    while (world.clock.monotonic() < until) {
      const { status, body } = await this.api.get(path);
      if (status === 200 && (await overwrite(body))) count++;
      await world.advance(POLL_MS);
    }
    return count;
  }

  put(path: string, body: Json): Promise<{ status: number }> {
    return this.api.call("PUT", path, body, { headers: { "user-agent": "kube-controller-manager/v1.36.4" } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api[Symbol.asyncDispose]();
  }
}

describe("a controller", () => {
  test("backs off from a config map whose data another client overwrites at once", async () => {
    await using fight = await Fight.begin("root-ca-certificate-publisher-controller");
    const count = await fight.during(MINUTE_MS, CONFIG_MAP, async (object) => {
      if (object.data["ca.crt"] === "theirs") return false;
      return (await fight.put(CONFIG_MAP, { ...object, data: { "ca.crt": "theirs" } })).status === 200;
    });
    // The first write creates the object, so the second one is no repetition.
    expect(count).toBe(WRITES_PER_MINUTE + 1);
    expect(fight.warnings).toEqual([
      'another client overwrites an object again and again: writes back off {"object":"configmaps default/kube-root-ca.crt","fieldManager":"kube-controller-manager"}',
    ]);
    const { body } = await fight.api.get(STATUS);
    expect(body.waitingFor).toMatchObject([
      {
        kind: "object",
        name: "configmaps default/kube-root-ca.crt",
        because: expect.stringMatching(/^kube-controller-/),
      },
    ]);
    // The other client has given up.
    await fight.api.world.advance(120_000);
    expect((await fight.api.get(CONFIG_MAP)).body.data["ca.crt"]).toContain("ours");
    expect((await fight.api.get(STATUS)).body.waitingFor).toEqual([]);
  });

  test("backs off from an aggregated cluster role whose rules another client overwrites at once", async () => {
    await using fight = await Fight.begin("clusterrole-aggregation-controller");
    const { api } = fight;
    const role = (name: string, more: Json): Json => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name, labels: { [name]: "true" } },
      ...more,
    });
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }];
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: "true" } }] };
    const roles = ROLE.slice(0, ROLE.lastIndexOf("/"));
    expect((await api.create(roles, role("part", { rules }))).status).toBe(201);
    expect((await api.create(roles, role("everything", { aggregationRule, rules: [] }))).status).toBe(201);
    const count = await fight.during(MINUTE_MS, ROLE, async (object) => {
      if (object.rules === null || object.rules === undefined || object.rules.length === 0) return false;
      return (await fight.put(ROLE, { ...object, rules: [] })).status === 200;
    });
    expect(count).toBe(WRITES_PER_MINUTE);
    expect(fight.warnings).toHaveLength(1);
  });

  test("backs off from a service account that another client deletes at once", async () => {
    await using fight = await Fight.begin("serviceaccount-controller");
    const count = await fight.during(MINUTE_MS, ACCOUNT, async () => {
      return (await fight.api.call("DELETE", ACCOUNT)).status === 200;
    });
    expect(count).toBe(WRITES_PER_MINUTE);
    expect(fight.warnings).toHaveLength(1);
  });

  test("updates the usage of a quota at once, however often pods come and go", async () => {
    await using fight = await Fight.begin("resourcequota-controller");
    const { api } = fight;
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard: { configmaps: "5" } },
    };
    expect((await api.create("/api/v1/namespaces/default/resourcequotas", quota)).status).toBe(201);
    for (let round = 0; round < 8; round++) {
      const name = `c-${round}`;
      const path = "/api/v1/namespaces/default/configmaps";
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
      expect((await api.create(path, object)).status).toBe(201);
      await api.call("DELETE", `${path}/${name}`);
      await api.world.advance(7_000);
      const { body } = await api.get("/api/v1/namespaces/default/resourcequotas/q");
      expect(body.status.used.configmaps, `round ${round}`).toBe("0");
    }
    expect(fight.warnings).toEqual([]);
  });
});
