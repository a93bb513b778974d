/**
 * Admission while a server cannot decrypt the objects that configure it: writes that the objects could deny are
 * rejected, because a lost key or an unreachable KMS plugin must not disable policies.
 */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { encryption, fileOf, IDENTITY, keyed, ONE, TWO, type Provider } from "./encryption-config.ts";
import { CONFIG_MAPS, configMap, pod, PODS, startServer, type ApiTestResponse, type Json } from "./start.ts";

const GROUP = "admissionregistration.k8s.io";
const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
const webhooks = [
  {
    ...{ name: "a.example.com", sideEffects: "None", admissionReviewVersions: ["v1"], rules: [rule] },
    clientConfig: { url: "https://127.0.0.1:1/x" },
  },
];
const policy = {
  matchConstraints: { resourceRules: [rule] },
  validations: [{ expression: "false" }],
};

interface Configured {
  readonly resource: string;
  readonly object: Json;
  /** The resource whose writes the object denies. */
  readonly denied: "configmaps" | "pods";
}

const inGroup = (kind: string, more: Json): Json => ({
  ...{ apiVersion: `${GROUP}/v1`, kind, metadata: { name: "a" } },
  ...more,
});
const inCore = (kind: string, spec: Json): Json => ({ apiVersion: "v1", kind, metadata: { name: "a" }, spec });

const CONFIGURED: readonly Configured[] = [
  {
    resource: `validatingwebhookconfigurations.${GROUP}`,
    object: inGroup("ValidatingWebhookConfiguration", { webhooks }),
    denied: "configmaps",
  },
  {
    resource: `mutatingwebhookconfigurations.${GROUP}`,
    object: inGroup("MutatingWebhookConfiguration", { webhooks }),
    denied: "configmaps",
  },
  {
    resource: `validatingadmissionpolicies.${GROUP}`,
    object: inGroup("ValidatingAdmissionPolicy", { spec: policy }),
    denied: "configmaps",
  },
  {
    resource: `validatingadmissionpolicybindings.${GROUP}`,
    object: inGroup("ValidatingAdmissionPolicyBinding", { spec: { policyName: "p", validationActions: ["Deny"] } }),
    denied: "configmaps",
  },
  {
    resource: "limitranges",
    object: inCore("LimitRange", { limits: [{ type: "Container", max: { cpu: "1" } }] }),
    denied: "pods",
  },
  { resource: "resourcequotas", object: inCore("ResourceQuota", { hard: { pods: "0" } }), denied: "pods" },
];

test("a policy whose key is removed while the server runs stays in force, and other writes are not rejected", async () => {
  const resources = [`validatingadmissionpolicies.${GROUP}`, `validatingadmissionpolicybindings.${GROUP}`];
  let providers: readonly Provider[] = [keyed("aesgcm", ["one", ONE]), IDENTITY];
  const read = (): string => fileOf([{ resources, providers }]);
  await using api = await startServer({ encryption: { read, reloads: true } });
  for (const [kind, spec] of [
    ["ValidatingAdmissionPolicy", policy],
    ["ValidatingAdmissionPolicyBinding", { policyName: "a", validationActions: ["Deny"] }],
  ] as const)
    await api.create(`/apis/${GROUP}/v1/${kind.toLowerCase().replace(/y$/, "ie")}s`, inGroup(kind, { spec }));
  await api.world.advance(5_000);
  const create = (path: string, object: Json): Promise<ApiTestResponse> =>
    api.call("POST", path, object, { asClient: true });
  expect((await create(CONFIG_MAPS, configMap("c"))).status).toBe(422);
  providers = [keyed("aesgcm", ["two", TWO]), IDENTITY];
  await api.world.advance(120_000);
  expect((await api.get(`/apis/${GROUP}/v1/validatingadmissionpolicies/a`)).status).toBe(500);
  expect((await create(CONFIG_MAPS, configMap("c"))).status).toBe(422);
  expect((await create(PODS, pod("p"))).status).toBe(201);
});

describe("a server that cannot decrypt an object", () => {
  test.each(CONFIGURED.map((one) => [one.resource, one] as const))(
    "of %s rejects the writes that the object could deny, until it is deleted",
    async (_resource, { resource, object, denied }) => {
      const world = new World({ seed: 1 });
      const name = resource.split(".")[0]!;
      const path = resource.includes(".") ? `/apis/${GROUP}/v1/${name}` : `/api/v1/namespaces/default/${name}`;
      {
        await using before = await startServer({
          world,
          ...encryption([resource], keyed("aesgcm", ["one", ONE]), IDENTITY),
        });
        expect((await before.create(path, object)).status).toBe(201);
      }
      await using after = await startServer({ world });
      await world.advance(60_000);
      const create = (): Promise<ApiTestResponse> =>
        denied === "pods"
          ? after.call("POST", PODS, pod("p"), { asClient: true })
          : after.call("POST", CONFIG_MAPS, configMap("c"), { asClient: true });
      const { status, body } = await create();
      expect([status, body.message]).toEqual([500, expect.stringContaining("no encryption is configured")]);
      expect((await after.get("/readyz")).status).toBe(200);
      const key = `/registry/${name}/${resource.includes(".") ? "" : "default/"}a`;
      const [stored] = (await after.kv.range({ start: key })).items;
      await after.kv.commit({ kind: "delete", key, expectedRevision: stored!.modRevision });
      await world.advance(1_000);
      expect((await create()).status).toBe(201);
    },
  );
});
