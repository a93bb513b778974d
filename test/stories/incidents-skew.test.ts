/**
 * Tests of incidents during upgrades, most of them named after issues of kubernetes/kubernetes: servers of two releases
 * share one address, and a request reaches the server that does not support it.
 */
import { describe, expect, test } from "vitest";
import { isJsonObject, objectAt, type JsonObject } from "../../src/meta/json.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { Story, withGate, type Gate, type StoryResponse } from "./story.ts";

interface Skewed {
  readonly story: Story;
  readonly old: SimulatedServer;
  readonly young: SimulatedServer;
}

async function skewed(gate: Gate, older: string, newer: string): Promise<Skewed> {
  const story = await Story.begin([withGate(gate, { release: older }), withGate(gate, { release: newer })]);
  return { story, old: story.server(0), young: story.server(1) };
}

const MERGE_PATCH = { "content-type": "application/merge-patch+json" } as const;

describe("127316: a kubelet of 1.31 that requests Services with a cluster IP from a server of 1.30", () => {
  const target = "/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone&limit=500&resourceVersion=0";

  async function ask(gate: Gate): Promise<StoryResponse> {
    const { story, old, young } = await skewed(gate, "1.30", "1.31");
    const ports = [{ port: 80 }];
    for (const [name, spec] of [
      ["headless", { clusterIP: "None", ports }],
      ["plain", { ports }],
    ] as const) {
      const body = { metadata: { name }, spec };
      await story.ask(young, { method: "POST", target: "/api/v1/namespaces/default/services", body });
    }
    return story.ask(old, { method: "GET", target });
  }

  test("gets them with the mixed version proxy", async () => {
    const { status, body } = await ask("on");
    expect(status).toBe(200);
    expect(itemNames(body)).toContain("plain");
    expect(itemNames(body)).not.toContain("headless");
  });

  test("without the mixed version proxy gets the error of the issue", async () => {
    const { status, text } = await ask("off");
    expect(status).toBe(400);
    expect(text).toContain("spec.clusterIP");
  });
});

function itemNames({ items }: JsonObject): unknown[] {
  return Array.isArray(items) ? items.filter(isJsonObject).map((item) => objectAt(item, "metadata")["name"]) : [];
}

describe("129511: a chart sets a field of 1.30 on a daemon set, a controller of 1.29 reports its status, and", () => {
  const DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets";
  const PROFILE = { type: "Unconfined" } as const;
  const labels = { app: "agent" };

  function agent(securityContext: object): JsonObject {
    const containers = [{ name: "agent", image: "agent", securityContext }];
    return {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "agent" },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    };
  }

  async function profileAfter({ story, old }: Skewed): Promise<unknown> {
    const { body } = await story.ask(old, { method: "GET", target: `${DAEMON_SETS}/agent` });
    const { containers } = objectAt(objectAt(objectAt(body, "spec"), "template"), "spec");
    const [first] = containers as JsonObject[];
    return objectAt(first!, "securityContext")["appArmorProfile"];
  }

  /**
   * A controller of 1.29 reads the object through the old server and sends back only the fields that its release
   * defines.
   */
  async function reportStatus({ story, old }: Skewed): Promise<number[]> {
    const target = `${DAEMON_SETS}/agent`;
    const { body } = await story.ask(old, { method: "GET", target });
    const known = { ...agent({}), metadata: body["metadata"], status: { numberReady: 1 } };
    const put = await story.ask(old, { method: "PUT", target: `${target}/status`, body: known });
    const status = { status: { numberReady: 2 } };
    const patched = await story.ask(old, {
      method: "PATCH",
      target: `${target}/status`,
      body: status,
      headers: MERGE_PATCH,
    });
    // The tools that install the chart also label the object.
    const label = { metadata: { labels: { managed: "yes" } } };
    const labelled = await story.ask(old, { method: "PATCH", target, body: label, headers: MERGE_PATCH });
    return [put.status, patched.status, labelled.status];
  }

  test.each<Gate>(["on", "off"])(
    "the field stays if the chart used the new server, with the mixed version proxy %s",
    async (gate) => {
      const skew = await skewed(gate, "1.29", "1.30");
      const { story, young } = skew;
      const made = await story.ask(young, {
        method: "POST",
        target: DAEMON_SETS,
        body: agent({ appArmorProfile: PROFILE }),
      });
      expect(made.status).toBe(201);
      expect(await reportStatus(skew)).toEqual([200, 200, 200]);
      expect(await profileAfter(skew)).toEqual(PROFILE);
    },
  );

  test("with the mixed version proxy the field also stays if the chart used the old server, because the new server handles the request", async () => {
    const skew = await skewed("on", "1.29", "1.30");
    const { story, old } = skew;
    const target = `${DAEMON_SETS}/agent`;
    await story.ask(old, { method: "POST", target: DAEMON_SETS, body: agent({}) });
    const { body } = agentPatch();
    const upgraded = await story.ask(old, { method: "PATCH", target, body, headers: MERGE_PATCH });
    expect(upgraded.status).toBe(200);
    expect(await reportStatus(skew)).toEqual([200, 200, 200]);
    expect(await profileAfter(skew)).toEqual(PROFILE);
  });

  test("without the mixed version proxy the old server drops the field", async () => {
    const skew = await skewed("off", "1.29", "1.30");
    const { story, old } = skew;
    await story.ask(old, { method: "POST", target: DAEMON_SETS, body: agent({}) });
    const { body } = agentPatch();
    await story.ask(old, { method: "PATCH", target: `${DAEMON_SETS}/agent`, body, headers: MERGE_PATCH });
    expect(await profileAfter(skew)).toBeUndefined();
  });

  function agentPatch(): { readonly body: object } {
    return { body: { spec: objectAt(agent({ appArmorProfile: PROFILE }), "spec") } };
  }
});

describe("pods/resize through a server of 1.32, in a cluster with 1.33,", () => {
  const PODS = "/api/v1/namespaces/default/pods";
  const resources = (cpu: string): object => ({ requests: { cpu }, limits: { cpu } });
  const spec = (cpu: string): object => ({ containers: [{ name: "main", image: "main", resources: resources(cpu) }] });

  async function resize(gate: Gate): Promise<readonly [status: number, resources: unknown]> {
    const { story, old } = await skewed(gate, "1.32", "1.33");
    await story.ask(old, { method: "POST", target: PODS, body: { metadata: { name: "one" }, spec: spec("1") } });
    const target = `${PODS}/one`;
    const { status } = await story.ask(old, {
      method: "PATCH",
      target: `${target}/resize`,
      body: { spec: spec("2") },
      headers: MERGE_PATCH,
    });
    const { body } = await story.ask(old, { method: "GET", target });
    const { containers } = objectAt(body, "spec");
    return [status, (containers as JsonObject[])[0]?.["resources"]];
  }

  test("is proxied to the server that supports it", async () => {
    expect(await resize("on")).toEqual([200, resources("2")]);
  });

  test("without the mixed version proxy returns 404, as if the pod did not exist", async () => {
    expect(await resize("off")).toEqual([404, resources("1")]);
  });
});
