/**
 * Tests of the built-in admission plugins through the whole server: how they change objects and which objects they
 * reject.
 */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import {
  configMap,
  deployment,
  header,
  pod,
  startServer as start,
  type ApiTestResponse,
  type CallOptions,
  type Json,
  type StartOptions,
  type TestServer,
} from "./start.ts";

const TOKENS = "secret-bob,bob,uid-bob\n";

/** Starts a server with access control but without controllers. */
const startServer = (options: StartOptions = {}): Promise<TestServer> =>
  start({ access: {}, tokenFile: TOKENS, ...options });

const inNamespace = (namespace: string, resource: string): string => `/api/v1/namespaces/${namespace}/${resource}`;
const PODS = inNamespace("default", "pods");
const CLAIMS = inNamespace("default", "persistentvolumeclaims");

async function withAccount(api: TestServer, namespace = "default"): Promise<TestServer> {
  const accounts = inNamespace(namespace, "serviceaccounts");
  expect((await api.create(accounts, { metadata: { name: "default" } })).status).toBe(201);
  return api;
}

async function podsOfNew(api: TestServer, name: string, labels: Json = {}): Promise<string> {
  expect((await api.create("/api/v1/namespaces", { metadata: { name, labels } })).status).toBe(201);
  await withAccount(api, name);
  return inNamespace(name, "pods");
}

/** The status and message of a rejected request, or "admitted". */
function outcome({ status, body }: ApiTestResponse): string {
  return status < 300 ? "admitted" : `${status} ${body.message}`;
}

const limited = (requests: Json, limits: Json = {}): Json => ({
  containers: [{ name: "main", image: "main", resources: { requests, limits } }],
});

const claim = (name: string, spec: Json = {}): Json => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});

const storageClass = (name: string, isDefault: boolean): Json => ({
  metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": String(isDefault) } },
  provisioner: "example.com/disk",
});

describe("the ServiceAccount plugin:", () => {
  test("a pod in a new namespace waits for the default service account, and gets its token as a volume", async () => {
    await using api = await startServer();
    await api.create("/api/v1/namespaces", { metadata: { name: "new" } });
    const waiting = api.begin("POST", inNamespace("new", "pods"), pod("a"));
    await api.world.advance(200);
    await withAccount(api, "new");
    const { status, body } = await api.world.run(waiting);
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({ serviceAccountName: "default", serviceAccount: "default" });
    const [volume] = body.spec.volumes;
    expect(volume.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(volume.projected.sources.map((source: Json) => Object.keys(source)[0])).toEqual([
      "serviceAccountToken",
      "configMap",
      "downwardAPI",
    ]);
    const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
    expect(body.spec.containers[0].volumeMounts).toEqual([{ name: volume.name, readOnly: true, mountPath }]);
  });

  test("a pod with a missing service account is rejected", async () => {
    await using api = await startServer();
    await api.create("/api/v1/namespaces", { metadata: { name: "new" } });
    expect(outcome(await api.create(inNamespace("new", "pods"), pod("a", { serviceAccountName: "gone" })))).toBe(
      '403 pods "a" is forbidden: error looking up service account new/gone: serviceaccount "gone" not found',
    );
    expect(outcome(await api.create(inNamespace("new", "pods"), pod("a")))).toBe(
      '403 pods "a" is forbidden: error looking up service account new/default: serviceaccount "default" not found',
    );
  });

  test("a pod of a service account without automount gets no token volume, but it gets the imagePullSecrets of the account", async () => {
    await using api = await withAccount(await startServer());
    const account = {
      metadata: { name: "quiet" },
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: "r" }],
    };
    await api.create(inNamespace("default", "serviceaccounts"), account);
    const { spec } = (await api.create(PODS, pod("a", { serviceAccountName: "quiet" }))).body;
    expect([spec.volumes, spec.imagePullSecrets]).toEqual([undefined, [{ name: "r" }]]);
  });
});

test("LimitRanger sets the defaults of a LimitRange and rejects values outside its limits", async () => {
  await using api = await withAccount(await startServer());
  const container = { type: "Container", max: { cpu: "1" }, min: { cpu: "100m" }, default: { cpu: "500m" } };
  const storage = { type: "PersistentVolumeClaim", max: { storage: "5Gi" } };
  const limits = [{ ...container, defaultRequest: { cpu: "250m" }, maxLimitRequestRatio: { cpu: "4" } }, storage];
  await api.create(inNamespace("default", "limitranges"), { metadata: { name: "l" }, spec: { limits } });
  const made = await api.create(PODS, pod("a"));
  expect(made.body.spec.containers[0].resources).toEqual({ limits: { cpu: "500m" }, requests: { cpu: "250m" } });
  expect(made.body.metadata.annotations["kubernetes.io/limit-ranger"]).toBe(
    "LimitRanger plugin set: cpu request for container main; cpu limit for container main",
  );
  expect(outcome(await api.create(PODS, pod("b", limited({ cpu: "50m" }, { cpu: "2" }))))).toBe(
    '403 pods "b" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, ' +
      "maximum cpu usage per Container is 1, but limit is 2, " +
      "cpu max limit to request ratio per Container is 4, but provided ratio is 40.000000]",
  );
  const large = claim("big", { resources: { requests: { storage: "9Gi" } } });
  expect(outcome(await api.create(CLAIMS, large))).toBe(
    '403 persistentvolumeclaims "big" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 9Gi',
  );
});

describe("ResourceQuota", () => {
  const QUOTAS = inNamespace("default", "resourcequotas");
  const MAPS = inNamespace("default", "configmaps");
  const controllers = ["resourcequota-controller"];

  async function limit(api: TestServer, hard: Json): Promise<void> {
    await api.create(QUOTAS, { metadata: { name: "q" }, spec: { hard } });
    // The quota controller must compute the usage once before the plugin can charge the quota.
    await api.world.advance(60_000);
    expect((await used(api)).hard).toEqual(hard);
  }

  async function used(api: TestServer): Promise<Json> {
    return (await api.get(`${QUOTAS}/q`)).body.status;
  }

  test("rejects pods that exceed the quota, does not charge rejected requests or dry runs, and releases the usage of deleted objects", async () => {
    await using api = await withAccount(await startServer({ controllers }));
    await limit(api, { pods: "2", "requests.cpu": "1", "count/configmaps": "1" });
    expect(outcome(await api.create(PODS, pod("a")))).toBe(
      '403 pods "a" is forbidden: failed quota: q: must specify requests.cpu for: main',
    );
    expect(outcome(await api.create(`${PODS}?dryRun=All`, pod("a", limited({ cpu: "1" }))))).toBe("admitted");
    expect(outcome(await api.create(PODS, pod("a", limited({ cpu: "600m" }))))).toBe("admitted");
    expect(outcome(await api.create(PODS, pod("b", limited({ cpu: "500m" }))))).toBe(
      '403 pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    expect(outcome(await api.create(MAPS, configMap("a")))).toBe("admitted");
    expect(outcome(await api.create(MAPS, configMap("b")))).toBe(
      '403 configmaps "b" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1',
    );
    expect((await used(api)).used).toEqual({ pods: "1", "requests.cpu": "600m", "count/configmaps": "1" });
    await api.delete(`${PODS}/a?gracePeriodSeconds=0`);
    await api.delete(`${MAPS}/a`);
    await api.world.advance(10_000);
    expect((await used(api)).used).toEqual({ pods: "0", "requests.cpu": "0", "count/configmaps": "0" });
    expect(outcome(await api.create(MAPS, configMap("b")))).toBe("admitted");
  });

  test("admits objects while the status of the quota has no hard limits, and rejects them while the status has limits but no usage", async () => {
    await using api = await startServer();
    await api.create(QUOTAS, { metadata: { name: "q" }, spec: { hard: { "count/configmaps": "0" } } });
    expect(outcome(await api.create(MAPS, configMap("a")))).toBe("admitted");
    const hard = { "count/configmaps": "1" };
    await api.mergePatch(`${QUOTAS}/q/status`, { status: { hard } });
    expect(outcome(await api.create(MAPS, configMap("b")))).toBe(
      '403 configmaps "b" is forbidden: status unknown for quota: q, resources: count/configmaps',
    );
  });

  test("never admits more objects than the quota allows if two servers charge the quota concurrently", async () => {
    const world = new World({ seed: 7 });
    await using one = await startServer({ world, controllers });
    await using other = await startServer({ world });
    await limit(one, { "count/configmaps": "5" });
    const servers = [one, other];
    const responses = await world.run(
      Promise.all(Array.from({ length: 16 }, (_, at) => servers[at % 2]!.begin("POST", MAPS, configMap(`c${at}`)))),
    );
    const outcomes = responses.map(outcome);
    expect(outcomes.filter((text) => text === "admitted")).toHaveLength(5);
    for (const text of outcomes.filter((each) => each !== "admitted"))
      expect(text).toContain("exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=5");
    expect((await used(other)).used).toEqual({ "count/configmaps": "5" });
    expect((await one.get(MAPS)).body.items).toHaveLength(5);
  });
});

test("Priority resolves a priority class to its value, falls back to the global default, and rejects a second global default", async () => {
  await using api = await withAccount(await startServer());
  const CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses";
  await api.create(CLASSES, { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" });
  await api.create(CLASSES, { metadata: { name: "usual" }, value: 7, globalDefault: true });
  const { spec: high } = (await api.create(PODS, pod("a", { priorityClassName: "high" }))).body;
  expect(high).toMatchObject({ priority: 1000, preemptionPolicy: "Never" });
  const { spec: usual } = (await api.create(PODS, pod("b"))).body;
  expect(usual).toMatchObject({ priority: 7, priorityClassName: "usual" });
  expect(outcome(await api.create(PODS, pod("c", { priorityClassName: "gone" })))).toBe(
    '403 pods "c" is forbidden: no PriorityClass with name gone was found',
  );
  const second = { metadata: { name: "second" }, value: 1, globalDefault: true };
  expect(outcome(await api.create(CLASSES, second))).toContain("PriorityClass usual is already marked as default");
});

test("nodes start with the not-ready taint, and pods tolerate unready and unreachable nodes for five minutes", async () => {
  await using api = await withAccount(await startServer());
  const { spec } = (await api.create("/api/v1/nodes", { metadata: { name: "n" } })).body;
  expect(spec.taints).toEqual([{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
  const own = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 };
  const { tolerations } = (await api.create(PODS, pod("a", { tolerations: [own] }))).body.spec;
  expect(tolerations).toEqual([
    own,
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  ]);
});

test("PodSecurity enforces and warns according to the labels of the namespace, and rejects invalid labels", async () => {
  await using api = await startServer();
  const level = (mode: string): string => `pod-security.kubernetes.io/${mode}`;
  const strict = await podsOfNew(api, "strict", { [level("enforce")]: "baseline", [level("warn")]: "restricted" });
  const rejected = await api.create(strict, pod("a", { hostNetwork: true }));
  expect(outcome(rejected)).toBe(
    '403 pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
  );
  const warned = await api.create(strict, pod("b"));
  expect(warned.status).toBe(201);
  expect(header(warned, "warning")).toContain('would violate PodSecurity \\"restricted:latest\\"');
  const workloads = "/apis/apps/v1/namespaces/strict/deployments";
  const made = await api.create(workloads, deployment("d"));
  expect([made.status, header(made, "warning")]).toEqual([201, expect.stringContaining("would violate PodSecurity")]);
  const lax = await podsOfNew(api, "lax");
  await api.create(lax, pod("c", { hostNetwork: true }));
  const tightened = await api.mergePatch("/api/v1/namespaces/lax", {
    metadata: { labels: { [level("enforce")]: "baseline" } },
  });
  expect(header(tightened, "warning")).toContain("c: host namespaces");
  expect(
    outcome(await api.mergePatch("/api/v1/namespaces/lax", { metadata: { labels: { [level("warn")]: "x" } } })),
  ).toMatch(/^422 .*must be one of privileged, baseline, restricted/);
});

test("DefaultStorageClass sets the newest default class on claims that name no class", async () => {
  await using api = await startServer();
  const CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
  await api.create(CLASSES, storageClass("plain", false));
  expect((await api.create(CLAIMS, claim("none"))).body.spec.storageClassName).toBeUndefined();
  for (const name of ["first", "second"]) {
    await api.create(CLASSES, storageClass(name, true));
    await api.world.advance(2_000);
    expect((await api.create(CLAIMS, claim(name))).body.spec.storageClassName).toBe(name);
  }
  expect((await api.create(CLAIMS, claim("own", { storageClassName: "plain" }))).body.spec.storageClassName).toBe(
    "plain",
  );
  expect((await api.create(CLAIMS, claim("empty", { storageClassName: "" }))).body.spec.storageClassName).toBe("");
});

const ROLES = "/apis/rbac.authorization.k8s.io/v1";

async function grant(api: TestServer, name: string, rules: readonly Json[]): Promise<void> {
  await api.create(`${ROLES}/clusterroles`, { metadata: { name }, rules });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" }];
  await api.create(`${ROLES}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
}

const asBob = (more: Record<string, string> = {}): CallOptions => ({
  asClient: true,
  headers: { authorization: "Bearer secret-bob", ...more },
});

test.each([
  ["1.36", '403 pods "a" is forbidden: '],
  ["1.34", "400 pod a does not have a host assigned"],
])(
  "in release %s, a GET of pods/exec by a user with only the verb get returns %j, and the verb create is sufficient",
  async (release, expected) => {
    await using api = await withAccount(await startServer({ release }));
    await api.create(PODS, pod("a"));
    await grant(api, "look", [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["get"] }]);
    expect(outcome(await api.call("GET", `${PODS}/a/exec?command=ls`, undefined, asBob()))).toBe(expected);
    await grant(api, "connect", [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["create"] }]);
    for (const method of ["GET", "POST"]) {
      const response = await api.call(method, `${PODS}/a/exec?command=ls`, undefined, asBob());
      expect(outcome(response)).toBe("400 pod a does not have a host assigned");
    }
  },
);

describe("certificate signing requests:", () => {
  const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

  function patchAsBob(api: TestServer, target: string, body: Json): Promise<ApiTestResponse> {
    const options = asBob({ "content-type": "application/merge-patch+json" });
    return api.call("PATCH", target, JSON.stringify(body), options);
  }

  test("a user who may write the approval subresource can approve requests only for signers that the user may approve for", async () => {
    await using api = await startServer();
    const signerName = "example.com/signer";
    await api.create(REQUESTS, {
      metadata: { name: "one" },
      spec: { request: Buffer.from(CSR).toString("base64"), signerName, usages: ["client auth"] },
    });
    const group = { apiGroups: ["certificates.k8s.io"] };
    await grant(api, "door", [{ ...group, resources: ["certificatesigningrequests/approval"], verbs: ["patch"] }]);
    const approved = { status: { conditions: [{ type: "Approved", status: "True", reason: "r" }] } };
    expect(outcome(await patchAsBob(api, `${REQUESTS}/one/approval`, approved))).toBe(
      `403 certificatesigningrequests.certificates.k8s.io "one" is forbidden: user not permitted to approve requests with signerName "${signerName}"`,
    );
    await grant(api, "signer", [
      { ...group, resources: ["signers"], resourceNames: ["example.com/*"], verbs: ["approve"] },
    ]);
    expect(outcome(await patchAsBob(api, `${REQUESTS}/one/approval`, approved))).toBe("admitted");
  });
});

describe("the admission plugin", () => {
  type Look = (api: TestServer) => Promise<unknown>;
  const podWith = async (api: TestServer, spec: Json = {}): Promise<Json> =>
    (await api.create(PODS, pod("a", spec))).body;

  test.each<[plugin: string, look: Look, on: unknown, off: unknown]>([
    ["ServiceAccount", async (api) => (await podWith(api)).spec.serviceAccountName, "default", undefined],
    ["Priority", async (api) => (await podWith(api)).spec.priority, 0, undefined],
    ["DefaultTolerationSeconds", async (api) => (await podWith(api)).spec.tolerations?.length, 2, undefined],
    ["RuntimeClass", async (api) => (await podWith(api, { runtimeClassName: "gone" })).code, 403, undefined],
    [
      "TaintNodesByCondition",
      async (api) => (await api.create("/api/v1/nodes", { metadata: { name: "n" } })).body.spec.taints?.length,
      1,
      undefined,
    ],
    [
      "PodSecurity",
      async (api) => {
        const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
        await api.mergePatch("/api/v1/namespaces/default", { metadata: { labels } });
        return (await podWith(api, { hostNetwork: true })).code;
      },
      403,
      undefined,
    ],
    [
      "LimitRanger",
      async (api) => {
        const limits = [{ type: "Container", default: { cpu: "1" } }];
        await api.create(inNamespace("default", "limitranges"), { metadata: { name: "l" }, spec: { limits } });
        return (await podWith(api)).spec.containers[0].resources.limits?.cpu;
      },
      "1",
      undefined,
    ],
    [
      "ResourceQuota",
      async (api) => {
        const quotas = inNamespace("default", "resourcequotas");
        const status = { hard: { pods: "0" }, used: { pods: "0" } };
        await api.create(quotas, { metadata: { name: "q" }, spec: { hard: { pods: "0" } } });
        await api.mergePatch(`${quotas}/q/status`, { status });
        return (await podWith(api)).code;
      },
      403,
      undefined,
    ],
    [
      "DefaultStorageClass",
      async (api) => {
        await api.create("/apis/storage.k8s.io/v1/storageclasses", storageClass("first", true));
        return (await api.create(CLAIMS, claim("c"))).body.spec.storageClassName;
      },
      "first",
      undefined,
    ],
  ])("%s is enabled by default and has no effect when disabled", async (plugin, look, on, off) => {
    await using usual = await withAccount(await startServer());
    expect(await look(usual)).toEqual(on);
    await using without = await withAccount(await startServer({ access: { disableAdmissionPlugins: [plugin] } }));
    expect(await look(without)).toEqual(off);
  });

  test.each<[plugin: string, look: Look, on: unknown, off: unknown]>([
    [
      "AlwaysPullImages",
      async (api) => (await podWith(api, PINNED)).spec.containers[0].imagePullPolicy,
      "Always",
      "IfNotPresent",
    ],
    [
      "DenyServiceExternalIPs",
      async (api) => {
        const spec = { externalIPs: ["192.0.2.1"], ports: [{ port: 80 }] };
        return (await api.create(inNamespace("default", "services"), { metadata: { name: "s" }, spec })).status;
      },
      403,
      201,
    ],
  ])("%s has no effect by default and takes effect when enabled", async (plugin, look, on, off) => {
    await using usual = await withAccount(await startServer());
    expect(await look(usual)).toEqual(off);
    await using more = await startServer({ access: { enableAdmissionPlugins: [plugin] } });
    await more.create(inNamespace("default", "serviceaccounts"), { metadata: { name: "default" } });
    expect(await look(more)).toEqual(on);
  });
});

const PINNED = { containers: [{ name: "main", image: "main:1", imagePullPolicy: "IfNotPresent" }] };

/** A PEM certificate request. Its private key is not kept. */
const CSR = `-----BEGIN CERTIFICATE REQUEST-----
MIICUTCCATkCAQAwDDEKMAgGA1UEAwwBeDCCASIwDQYJKoZIhvcNAQEBBQADggEP
ADCCAQoCggEBAOb24ZaS1hled5jd6jOxWZqYclFwgio2S+VVBl4FW9ogCMEAIg82
TSYV87Ode5VIGR7BTbk8v2/dyP9DqkEVcI5Ua11OL5FZAwljFytpFTGpRyVyhQqL
x3xFVSwZXbT/NIxBUWKzmFlguiEi61mN3sePsgqtjACCWLT3ATPjK0Oe7teG1eUO
/Clx/txtw3h+I5M92RmKWGMoFHb4Sj5O+KZEuabWTPxNNoR7SeQEEaRsdpteqZAJ
V8k9ZGwNUFyx5lQ1j17qczKcL6uTftAw2LIlO93emVa9cyyOwtY9UOFSZJ5XzIdC
C8AzoTNSYf2akEk7IV3UE+mtJEAhE9OZcFECAwEAAaAAMA0GCSqGSIb3DQEBCwUA
A4IBAQDk7eUgvedzqYD1FmsFr48kYdk/4n4sCWhpqTf7FJVaFvH7+mEZ2rBQRoPX
2K3uws/e2dAM+8bbsvN+XD6RqEfKc8WT/SzUrKjBNdLuDLKJbcGvDsmtkRIlwT9V
LP8UGEJ1uG+7suoto5p8QGK9qzAZQQ42fjQFrgONrX+mBxwtEPMWC+r+iaOx1Et6
tqV4keO3SWWgxbwHv52uqpz0gh8gSnC1Xk2XvKP01qReF/QvKS/DCx+KcG2J98C0
PZk7Yf4CgDOr189JlBH0Fnxh0yuj8BozNk++eraDfg0Yx2m+pPMj8KEdIGyldACX
JxDFUwxVhbm0JOd865Ec+96nH7Or
-----END CERTIFICATE REQUEST-----
`;

describe("an identity lease", () => {
  const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  const LABEL = "apiserver.kubernetes.io/identity";
  const REJECTED = /^403 .*only API servers may create or change a lease in kube-system with the label/;
  const writeAsBob = (api: TestServer, method: string, target: string, body: Json): Promise<ApiTestResponse> =>
    api.call(method, target, JSON.stringify(body), {
      asClient: true,
      headers: { authorization: "Bearer secret-bob", "content-type": method === "PATCH" ? MERGE : "application/json" },
    });
  const MERGE = "application/merge-patch+json";
  const lease = (name: string, component?: string): Json => ({
    metadata: { name, ...(component === undefined ? {} : { labels: { [LABEL]: component } }) },
    spec: { holderIdentity: `${name}_1`, leaseDurationSeconds: 3600 },
  });

  test("can be created and changed by API servers and administrators only", async () => {
    await using api = await startServer({ access: { authorizationModes: ["AlwaysAllow"] } });
    expect(outcome(await writeAsBob(api, "POST", LEASES, lease("ghost", "kube-apiserver")))).toMatch(REJECTED);
    expect((await api.create(LEASES, lease("admins", "kube-apiserver"))).status).toBe(201);
    const forged = { spec: { holderIdentity: "forged" } };
    expect(outcome(await writeAsBob(api, "PATCH", `${LEASES}/admins`, forged))).toMatch(REJECTED);
    const unlabeled = { metadata: { labels: { [LABEL]: null } } };
    expect(outcome(await writeAsBob(api, "PATCH", `${LEASES}/admins`, unlabeled))).toMatch(REJECTED);
    expect((await api.get(`${LEASES}/admins`)).body.spec.holderIdentity).toBe("admins_1");
  });

  test("of another component or without the label can be written by any client with the permission", async () => {
    await using api = await startServer({ access: { authorizationModes: ["AlwaysAllow"] } });
    expect((await writeAsBob(api, "POST", LEASES, lease("sample", "sample-apiserver"))).status).toBe(201);
    expect((await writeAsBob(api, "POST", LEASES, lease("leader"))).status).toBe(201);
    const labeled = { metadata: { labels: { [LABEL]: "kube-apiserver" } } };
    expect(outcome(await writeAsBob(api, "PATCH", `${LEASES}/leader`, labeled))).toMatch(REJECTED);
    const elsewhere = LEASES.replace("kube-system", "default");
    expect((await writeAsBob(api, "POST", elsewhere, lease("ghost", "kube-apiserver"))).status).toBe(201);
  });
});
