/**
 * Tests of CRDs in a cluster of two releases: every server watches the CRDs itself and serves changed resources
 * immediately.
 */
import { describe, expect, test } from "vitest";
import { isJsonObject, objectAt, type JsonObject } from "../../src/meta/json.ts";
import { Story, withGate } from "./story.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const AGGREGATED = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" } as const;
const CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

function definition(group: string, plural: string, kind: string, metadata: JsonObject = {}): JsonObject {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ...metadata },
    spec: {
      ...{ group, scope: "Namespaced", names: { plural, kind } },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

async function begin(): Promise<Story> {
  return Story.begin([withGate("on", { release: "1.33" }), withGate("on", { release: "1.36" })]);
}

/** Whether `/apis` of a server lists the group, in the aggregated and in the legacy format. */
async function shows(story: Story, index: number, group: string): Promise<boolean[]> {
  const ask = (headers: Record<string, string>): Promise<string> =>
    story.ask(story.server(index), { method: "GET", target: "/apis", headers }).then(({ text }) => text);
  return [(await ask({})).includes(`"${group}"`), (await ask(AGGREGATED)).includes(`"${group}"`)];
}

describe("a CRD", () => {
  test("adds its group to the discovery of every server as soon as its resource is served, and removes the group within two seconds after the CRD is deleted", async () => {
    const story = await begin();
    await story.ask(story.server(0), {
      method: "POST",
      target: DEFINITIONS,
      body: definition("a.example.com", "things", "Thing"),
    });
    const used = await story.ask(story.server(1), { method: "GET", target: "/apis/a.example.com/v1/things" });
    expect(used.status).toBe(200);
    expect([await shows(story, 0, "a.example.com"), await shows(story, 1, "a.example.com")]).toEqual([
      [true, true],
      [true, true],
    ]);
    await story.ask(story.server(1), { method: "DELETE", target: `${DEFINITIONS}/things.a.example.com` });
    await story.pass(2);
    expect([await shows(story, 0, "a.example.com"), await shows(story, 1, "a.example.com")]).toEqual([
      [false, false],
      [false, false],
    ]);
    const gone = await story.ask(story.server(0), { method: "GET", target: "/apis/a.example.com/v1/things" });
    expect(gone.status).toBe(404);
  });

  test("for a resource that is built into the newer release is served by the older server, and its objects are separate from those of the built-in resource", async () => {
    const story = await begin();
    const [older, newer] = [story.server(0), story.server(1)];
    const annotations = { "api-approved.kubernetes.io": "unapproved, for a test" };
    const body = definition("resource.k8s.io", "resourceclaims", "ResourceClaim", { annotations });
    expect((await story.ask(older, { method: "POST", target: DEFINITIONS, body })).status).toBe(201);
    await story.pass(1);
    const claim = {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "custom" },
      spec: { anything: 1 },
    };
    const made = await story.ask(older, { method: "POST", target: CLAIMS, body: claim });
    expect(objectAt(made.body, "spec")).toEqual({ anything: 1 });
    const requests = [{ name: "one", exactly: { deviceClassName: "any" } }];
    const builtIn = { metadata: { name: "built-in" }, spec: { devices: { requests } } };
    expect((await story.ask(newer, { method: "POST", target: CLAIMS, body: builtIn })).status).toBe(201);
    expect(await names(story, 0)).toEqual(["custom"]);
    expect(await names(story, 1)).toEqual(["built-in"]);
    // Another resource of the same group version is still proxied.
    const classes = await story.ask(older, { method: "GET", target: "/apis/resource.k8s.io/v1/deviceclasses" });
    expect(classes.status).toBe(200);
    await story.ask(newer, { method: "DELETE", target: `${DEFINITIONS}/resourceclaims.resource.k8s.io` });
    await story.pass(5);
    expect(await names(story, 0)).toEqual(["built-in"]);
    expect(await names(story, 1)).toEqual(["built-in"]);
  });
});

async function names(story: Story, index: number): Promise<unknown[]> {
  const { body } = await story.ask(story.server(index), { method: "GET", target: CLAIMS });
  const { items } = body;
  return Array.isArray(items) ? items.filter(isJsonObject).map((item) => objectAt(item, "metadata")["name"]) : [body];
}
