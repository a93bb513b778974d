import { describe, expect, test } from "vitest";
import type { Clock } from "../../../base/clock.ts";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { serviceAccount } from "./service-account.ts";
import {
  attributes,
  mutated,
  pod,
  readerOf,
  rejectionOf,
  type StoredObjects,
} from "../../../../test/testing/access/admission/plugins/attributes.ts";

/** A clock whose timers fire at once. */
const clock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after(_, callback) {
    queueMicrotask(callback);
    return () => undefined;
  },
};
const random = { float: () => 0, bytes: (length: number) => new Uint8Array(length) };
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const CONTAINERS = [{ name: "c", image: "i" }];

function account(name: string, more: JsonObject = {}, annotations: JsonObject = {}): JsonObject {
  return { metadata: { name, namespace: "ns", annotations }, ...more };
}

function plugin(accounts: readonly JsonObject[], unseen: StoredObjects = {}) {
  return serviceAccount({ reader: readerOf({ serviceaccounts: accounts }, unseen), clock, random });
}

async function specOf(spec: JsonObject, accounts: readonly JsonObject[]): Promise<JsonObject> {
  return objectAt(
    await mutated(plugin(accounts), attributes({ object: pod({ containers: CONTAINERS, ...spec }) })),
    "spec",
  );
}

describe("a new pod", () => {
  test("gets the default service account and its token volume", async () => {
    const name = "kube-api-access-bbbbb";
    expect(await specOf({}, [account("default")])).toEqual({
      serviceAccountName: "default",
      serviceAccount: "default",
      containers: [{ ...CONTAINERS[0], volumeMounts: [{ name, readOnly: true, mountPath: MOUNT_PATH }] }],
      volumes: [
        {
          name,
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              {
                downwardAPI: {
                  items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
                },
              },
            ],
          },
        },
      ],
    });
  });

  test("keeps an existing mount at the token path, and mounts an existing token volume", async () => {
    const mounting = [{ name: "c", volumeMounts: [{ name: "v", mountPath: MOUNT_PATH }] }];
    expect(await specOf({ containers: mounting }, [account("default")])).not.toHaveProperty("volumes");
    const spec = await specOf({ volumes: [{ name: "kube-api-access-mine" }] }, [account("default")]);
    expect(spec["volumes"]).toHaveLength(1);
    expect(spec["containers"]).toMatchObject([{ volumeMounts: [{ name: "kube-api-access-mine" }] }]);
  });

  test.each([
    [undefined, undefined, true],
    [undefined, false, false],
    [true, false, true],
    [false, true, false],
  ])(
    "with automountServiceAccountToken %s, whose service account has %s, has the token mounted: %s",
    async (wanted, offered, isMounted) => {
      const automount = (value: boolean | undefined): JsonObject =>
        value === undefined ? {} : { automountServiceAccountToken: value };
      const spec = await specOf(automount(wanted), [account("default", automount(offered))]);
      expect(Object.hasOwn(spec, "volumes")).toBe(isMounted);
    },
  );

  test("gets the image pull secrets of its service account unless it sets its own", async () => {
    const accounts = [account("default", { imagePullSecrets: [{ name: "a" }] })];
    expect(await specOf({}, accounts)).toMatchObject({ imagePullSecrets: [{ name: "a" }] });
    expect(await specOf({ imagePullSecrets: [{ name: "b" }] }, accounts)).toMatchObject({
      imagePullSecrets: [{ name: "b" }],
    });
  });

  test("may use a service account that this server has not cached yet, but not a missing one", async () => {
    const object = pod({ containers: CONTAINERS, serviceAccountName: "new" });
    const unseen = { serviceaccounts: [account("new")] };
    expect(await rejectionOf(() => mutated(plugin([], unseen), attributes({ object })))).toBeUndefined();
    const message = 'pods "p" is forbidden: error looking up service account ns/new: serviceaccount "new" not found';
    expect(await rejectionOf(() => mutated(plugin([]), attributes({ object })))).toBe(`403 ${message}`);
  });

  test("waits for the default service account of a new namespace, and is rejected after ten reads", async () => {
    let reads = 0;
    const reader = readerOf({});
    const newest = () => Promise.resolve(++reads === 10 ? account("default") : undefined);
    const waiting = serviceAccount({ reader: { ...reader, newest }, clock, random });
    const object = pod({ containers: CONTAINERS });
    expect(await rejectionOf(() => waiting.mutate?.(attributes({ object })))).toBeUndefined();
    expect(await rejectionOf(() => waiting.mutate?.(attributes({ object })))).toContain("not found");
    expect(reads).toBe(20);
  });
});

describe("a mirror pod", () => {
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  test.each([
    [{ serviceAccountName: "a" }, "a mirror pod may not reference service accounts"],
    [{ volumes: [{ name: "v", secret: { secretName: "s" } }] }, "a mirror pod may not reference secrets"],
    [{ containers: [{ envFrom: [{ secretRef: { name: "s" } }] }] }, "a mirror pod may not reference secrets"],
    [{ volumes: [{ csi: { nodePublishSecretRef: { name: "s" } } }] }, "a mirror pod may not reference secrets"],
    [
      { volumes: [{ projected: { sources: [{ serviceAccountToken: {} }] } }] },
      "a mirror pod may not use ServiceAccountToken volume projections",
    ],
  ])("with %j is rejected", async (spec, why) => {
    const given = attributes({ object: pod(spec, mirror) });
    for (const ask of ["mutate", "validate"] as const)
      expect(await rejectionOf(() => plugin([])[ask]?.(given))).toBe(`403 pods "p" is forbidden: ${why}`);
  });

  test("is not changed", async () => {
    const object = pod({ containers: CONTAINERS }, mirror);
    expect(await mutated(plugin([]), attributes({ object }))).toBe(object);
  });
});

describe("a service account with enforce-mountable-secrets", () => {
  const strict = account(
    "default",
    { secrets: [{ name: "own" }] },
    { "kubernetes.io/enforce-mountable-secrets": "true" },
  );
  const end = "is not allowed because service account default does not reference that";
  const env = [{ name: "E", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }];

  test.each([
    [{ volumes: [{ name: "v", secret: { secretName: "x" } }] }, `volume with secret.secretName="x" ${end} secret`],
    [
      { initContainers: [{ name: "i", env }] },
      `init container i with envVar E referencing secret.secretName="x" ${end} secret`,
    ],
    [
      { containers: [{ name: "c", envFrom: [{ secretRef: { name: "x" } }] }] },
      `container c with envFrom referencing secret.secretName="x" ${end} secret`,
    ],
    [{ imagePullSecrets: [{ name: "x" }] }, `imagePullSecrets[0].name="x" ${end} imagePullSecret`],
  ])("rejects a pod with %j", async (spec, why) => {
    expect(await rejectionOf(() => specOf(spec, [strict]))).toBe(`403 pods "p" is forbidden: ${why}`);
  });

  test("allows a pod to use the secrets of the account", async () => {
    const volumes = [{ name: "v", secret: { secretName: "own" } }];
    expect(await rejectionOf(() => specOf({ volumes }, [strict]))).toBeUndefined();
  });

  test("rejects other secrets in ephemeral containers with a 500 without a reason, as kubernetes does", async () => {
    const spec = { serviceAccountName: "default", ephemeralContainers: [{ name: "e", env }] };
    const given = attributes({ operation: "UPDATE", subresource: "ephemeralcontainers", object: pod(spec) });
    expect(await rejectionOf(() => plugin([strict]).validate?.(given))).toBe(
      `500 ephemeral container e with envVar E referencing secret.secretName="x" ${end} secret`,
    );
  });
});

test("a pod that has no service account after mutation is rejected", async () => {
  const given = attributes({ object: pod({}) });
  expect(await rejectionOf(() => plugin([]).validate?.(given))).toBe(
    '403 pods "p" is forbidden: no service account specified for pod ns/p',
  );
});
