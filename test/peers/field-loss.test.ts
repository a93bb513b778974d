/**
 * Tests of `--field-loss`, which sets what a server does with requests that change a field that only a peer supports.
 * 1.33 supports `spec.resources` of pods, 1.31 does not.
 */
import { describe, expect, test } from "vitest";
import type { PeerOptions } from "../../src/cluster/peers/peer-config.ts";
import type { PeerResponse, CallOptions, Json } from "./client.ts";
import { startCluster, TestCluster, type Member } from "./cluster.ts";
import { eventually } from "./wait.ts";

const PODS = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const RESOURCES = { limits: { cpu: "1" } };

function pod(name: string, spec: Json = {}, metadata: Json = {}): Json {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { containers: [{ name: "main", image: "main" }], ...spec },
  };
}

/** A workload whose pod template can still be changed after its creation. */
function deployment(name: string): Json {
  const labels = { app: name };
  const { spec } = pod(name);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

function inTemplate(spec: Json): Json {
  return { spec: { template: { spec } } };
}

async function mixed(peers: Partial<PeerOptions> = {}): Promise<{ cluster: TestCluster; old: Member; young: Member }> {
  const cluster = await startCluster([{ release: "1.31", peers }, { release: "1.33" }]);
  const [old, young] = cluster.members as [Member, Member];
  return { cluster, old, young };
}

const SERVED_BY_PEER = "b (1.33); reason=peer-knows-fields";

function servedBy({ status, headers }: PeerResponse): [number, string | string[] | undefined] {
  return [status, headers["x-evenkeel-served-by"]];
}

function patch(type: "merge-patch" | "json-patch", body: Json): CallOptions {
  return { method: "PATCH", body: JSON.stringify(body), headers: { "content-type": `application/${type}+json` } };
}

async function specOf(member: Member, name: string): Promise<Json> {
  return (await member.get(`${PODS}/${name}`)).body.spec;
}

describe("--field-loss=route", () => {
  test("proxies a creation to the peer that supports the field, whatever the format of the body", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const annotations = { big: "x".repeat(200_000) };
    const yaml = `{apiVersion: v1, kind: Pod, metadata: {name: yaml}, spec: {resources: {limits: {cpu: "1"}}, containers: [{name: main, image: main}]}}`;
    const sent: readonly (readonly [name: string, options: CallOptions])[] = [
      ["json", { body: pod("json", { resources: RESOURCES }) }],
      ["big", { body: pod("big", { resources: RESOURCES }, { annotations }) }],
      ["yaml", { body: yaml, headers: { "content-type": "application/yaml", accept: "application/yaml" } }],
      [
        "chunked",
        {
          body: JSON.stringify(pod("chunked", { resources: RESOURCES })),
          headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
        },
      ],
    ];
    for (const [name, options] of sent) {
      const response = await old.call(`${PODS}?fieldValidation=Strict`, { method: "POST", ...options });
      expect([name, ...servedBy(response)]).toEqual([name, 201, SERVED_BY_PEER]);
      expect(response.headers["warning"]).toBeUndefined();
      expect((await specOf(old, name)).resources).toEqual(RESOURCES);
    }
  });

  test("proxies updates and patches that change or remove the field, and no other updates and patches", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const one = `${DEPLOYMENTS}/one`;
    const resources = async (): Promise<Json> => (await old.get(one)).body.spec.template.spec.resources;
    expect(servedBy(await old.create(DEPLOYMENTS, deployment("one")))).toEqual([201, undefined]);

    const merged = await old.call(one, patch("merge-patch", inTemplate({ resources: RESOURCES })));
    expect([...servedBy(merged), await resources()]).toEqual([200, SERVED_BY_PEER, RESOURCES]);

    const { body: read } = await old.get(one);
    const back = await old.call(`${one}?fieldValidation=Strict`, { method: "PUT", body: read });
    expect([...servedBy(back), back.headers["warning"]]).toEqual([200, undefined, undefined]);
    const labelled = await old.call(one, patch("merge-patch", { metadata: { labels: { a: "1" } } }));
    expect([...servedBy(labelled), await resources()]).toEqual([200, undefined, RESOURCES]);

    const more = { limits: { cpu: "2" } };
    const { body: newest } = await old.get(one);
    newest.spec.template.spec.resources = more;
    const put = await old.call(one, { method: "PUT", body: newest });
    expect([...servedBy(put), await resources()]).toEqual([200, SERVED_BY_PEER, more]);

    const replace = [{ op: "replace", path: "/spec/template/spec/resources/limits/cpu", value: "3" }];
    const replaced = await old.call(one, patch("json-patch", replace));
    expect([...servedBy(replaced), await resources()]).toEqual([200, SERVED_BY_PEER, { limits: { cpu: "3" } }]);

    const removed = await old.call(one, patch("merge-patch", inTemplate({ resources: null })));
    expect([...servedBy(removed), await resources()]).toEqual([200, SERVED_BY_PEER, undefined]);
  });

  test("writes no object through the server that forwards the request", async () => {
    const { cluster, old, young } = await mixed();
    await using _ = cluster;
    await young.create(PODS, pod("one"));
    await young.create(DEPLOYMENTS, deployment("one"));
    const { body: read } = await young.get(`${DEPLOYMENTS}/one`);
    read.spec.template.spec.resources = RESOURCES;
    const apply = (cpu: string): CallOptions => ({
      method: "PATCH",
      body: JSON.stringify({ ...deployment("one"), ...inTemplate({ resources: { limits: { cpu } } }) }),
      headers: { "content-type": "application/apply-patch+yaml" },
    });
    const more = patch("merge-patch", inTemplate({ resources: { limits: { cpu: "2" } } }));
    const replace = { op: "replace", path: "/spec/template/spec/resources/limits/cpu", value: "3" };
    const debug = { name: "debug", image: "debug" };
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "one" } };
    const deleteOptions = { ignoreStoreReadErrorWithClusterBreakingPotential: false };
    const writes: readonly (readonly [target: string, CallOptions])[] = [
      [PODS, { method: "POST", body: pod("two", { resources: RESOURCES }) }],
      [`${PODS}?dryRun=All`, { method: "POST", body: pod("three", { resources: RESOURCES }) }],
      [`${DEPLOYMENTS}/one`, { method: "PUT", body: read }],
      [`${DEPLOYMENTS}/one?dryRun=All`, more],
      [`${DEPLOYMENTS}/one`, more],
      [`${DEPLOYMENTS}/one`, patch("json-patch", [replace])],
      [`${DEPLOYMENTS}/one?fieldManager=a&force=true`, apply("4")],
      [`${PODS}/one/status`, patch("merge-patch", { status: { observedGeneration: 3 } })],
      [
        `${PODS}/one/ephemeralcontainers`,
        patch("merge-patch", { spec: { ephemeralContainers: [debug], resources: RESOURCES } }),
      ],
      [`${PODS}/one/eviction`, { method: "POST", body: { ...eviction, deleteOptions } }],
    ];
    for (const [target, options] of writes) {
      const response = await old.call(target, options);
      const status = options.method === "POST" ? 201 : 200;
      expect(servedBy(response), `${options.method} ${target}: ${response.text}`).toEqual([status, SERVED_BY_PEER]);
    }
    expect(old.storeWrites.filter((key) => /\/(pods|deployments)\//.test(key))).toEqual([]);
    expect((await old.get(`${DEPLOYMENTS}/one`)).body.spec.template.spec.resources).toEqual({ limits: { cpu: "4" } });
    expect((await old.get(`${PODS}/three`)).status).toBe(404);
  });

  test("considers only the fields that the requested subresource can write", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    await old.create(PODS, pod("one", { resources: RESOURCES }));
    const status = patch("merge-patch", { status: { observedGeneration: 3 } });
    expect(servedBy(await old.call(`${PODS}/one/status`, status))).toEqual([200, SERVED_BY_PEER]);
    const { body: read } = await old.get(`${PODS}/one`);
    expect(read.status.observedGeneration).toBe(3);
    const other = { ...read, spec: { ...read.spec, resources: { limits: { cpu: "9" } } } };
    const put = await old.call(`${PODS}/one/status`, { method: "PUT", body: other });
    expect(servedBy(put)).toEqual([200, undefined]);
    expect((await specOf(old, "one")).resources).toEqual(RESOURCES);
  });

  test("leaves fields that no server supports to field validation, which the peer performs if the request is proxied because of another field", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const typo = await old.create(PODS, pod("typo", { resuorces: RESOURCES }));
    expect([...servedBy(typo), typo.headers["warning"]]).toEqual([
      201,
      undefined,
      '299 - "unknown field \\"spec.resuorces\\""',
    ]);
    const strict = await old.create(`${PODS}?fieldValidation=Strict`, pod("no", { resuorces: RESOURCES }));
    expect(servedBy(strict)).toEqual([400, undefined]);
    const both = await old.create(PODS, pod("both", { resuorces: 1, resources: RESOURCES }));
    expect([...servedBy(both), both.headers["warning"]]).toEqual([
      201,
      SERVED_BY_PEER,
      '299 - "unknown field \\"spec.resuorces\\""',
    ]);
  });

  test("keeps a supported field that contains an unknown field", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const response = await old.create(PODS, pod("one", { resources: { ...RESOURCES, limit: 1 } }));
    expect([...servedBy(response), response.headers["warning"]]).toEqual([
      201,
      SERVED_BY_PEER,
      '299 - "unknown field \\"spec.resources.limit\\""',
    ]);
    expect(response.body.spec.resources).toEqual(RESOURCES);
  });

  test("selects a peer that supports all fields of the request, including nested fields", async () => {
    await using cluster = await startCluster([{ release: "1.31" }, { release: "1.33" }, { release: "1.36" }]);
    const [old] = cluster.members as [Member];
    const restartPolicyRules = [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }];
    const containers = [{ name: "main", image: "main", restartPolicy: "Never", restartPolicyRules }];
    for (let round = 0; round < 5; round++) {
      const response = await old.create(PODS, pod(`p${round}`, { resources: RESOURCES, containers }));
      expect(servedBy(response)).toEqual([201, "c (1.36); reason=peer-knows-fields"]);
    }
  });

  test("selects the peer that is nearest to the client's release if several support the field", async () => {
    await using cluster = await startCluster(
      ["1.31", "1.33", "1.36"].map((release) => ({
        release,
        options: { featureGates: ["UnknownVersionInteroperabilityProxy=true", "VersionAwareProxying=true"] },
      })),
    );
    const [old] = cluster.members as [Member];
    const headers = { "x-kubernetes-compatibility-version": "1.31" };
    for (let round = 0; round < 8; round++) {
      const body = pod(`p${round}`, { resources: RESOURCES });
      expect(servedBy(await old.call(PODS, { method: "POST", body, headers }))).toEqual([201, SERVED_BY_PEER]);
    }
  });

  test("finds a field that a peer supports among hundreds of fields that no server supports", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const containers = Array.from({ length: 500 }, (_item, index) => ({
      name: `c${index}`,
      image: "main",
      typo: index,
    }));
    const response = await old.create(PODS, pod("many", { containers, resources: RESOURCES }));
    expect(servedBy(response)).toEqual([201, SERVED_BY_PEER]);
  });

  test("rejects a request with more than 1,000 unsupported fields only if a peer has another release", async () => {
    const typos = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`typo${index}`, 1]));
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const response = await old.create(PODS, pod("many", typos));
    expect([response.status, response.body.message]).toEqual([
      400,
      "the request sets more than 1000 fields that a (1.31) does not know, and b (1.33) may",
    ]);
    expect((await old.get(`${PODS}/many`)).status).toBe(404);
    await using same = await startCluster([{ release: "1.31" }, { release: "1.31" }]);
    expect((await same.members[0]!.create(PODS, pod("many", typos))).status).toBe(201);
  });

  test("does not proxy a request that a peer has sent", async () => {
    const { cluster, old } = await mixed();
    await using _ = cluster;
    const headers = { "x-remote-user": "jane", "x-kubernetes-peer-proxied": "true" };
    const body = pod("one", { resources: RESOURCES });
    const response = await old.call(PODS, { method: "POST", asProxy: true, token: "", headers, body });
    expect([...servedBy(response), response.body.spec.resources]).toEqual([201, undefined, undefined]);
    expect(response.headers["warning"]).toBe('299 - "unknown field \\"spec.resources\\""');
  });

  test("returns 503 and stores nothing while the only peer that supports the field is unreachable", async () => {
    const { cluster, old, young } = await mixed();
    await using _ = cluster;
    young.link.cut();
    await eventually(
      () => old.usablePeers.join(),
      (usable) => usable === "",
    );
    const response = await old.create(PODS, pod("one", { resources: RESOURCES }));
    expect([response.status, response.headers["retry-after"]]).toEqual([503, "1"]);
    expect(response.body.message).toBe(
      "a does not know all fields that the request sets; they are known to b, which cannot be reached (connection reset)",
    );
    expect(response.body.details.causes).toEqual([
      { field: "server", message: "a" },
      { field: "peer", message: "b" },
      { field: "rule", message: "peer-unreachable" },
    ]);
    expect((await old.get(`${PODS}/one`)).status).toBe(404);
    expect((await old.create(PODS, pod("two"))).status).toBe(201);
    young.link.mend();
    await old.knows("b");
    expect(servedBy(await old.create(PODS, pod("one", { resources: RESOURCES })))).toEqual([201, SERVED_BY_PEER]);
  });

  test("returns 503 and names the missing flag if the server cannot call peers", async () => {
    await using cluster = await startCluster([{ release: "1.31", hasNoCredentials: true }, { release: "1.33" }]);
    const [old] = cluster.members as [Member];
    await eventually(
      () => old.view.peers.map(({ release }) => release).join(),
      (releases) => releases === "1.33",
    );
    const response = await old.create(PODS, pod("one", { resources: RESOURCES }));
    expect([response.status, response.headers["retry-after"]]).toEqual([503, "30"]);
    expect(response.body.message).toContain("--peer-ca-file is not set");
  });
});

describe("--field-loss=warn", () => {
  const LOSS = '299 - "the field \\"spec.resources\\" was dropped: a (1.31) does not know it, b (1.33) does"';

  test("serves the request locally, and warns about the dropped field and the peer that supports it, unless field validation is Strict", async () => {
    const { cluster, old } = await mixed({ fieldLoss: "warn" });
    await using _ = cluster;
    const response = await old.create(PODS, pod("one", { resources: RESOURCES }));
    expect([...servedBy(response), response.body.spec.resources]).toEqual([201, undefined, undefined]);
    expect(response.headers["warning"]).toBe(`299 - "unknown field \\"spec.resources\\"", ${LOSS}`);
    const quiet = await old.create(`${PODS}?fieldValidation=Ignore`, pod("two", { resources: RESOURCES }));
    expect(quiet.headers["warning"]).toBe(LOSS);
    const strict = await old.create(`${PODS}?fieldValidation=Strict`, pod("three", { resources: RESOURCES }));
    expect([strict.status, strict.headers["warning"]]).toEqual([400, undefined]);
  });

  test("is also the behavior of route with --peer-routing=documents", async () => {
    const { cluster, old } = await mixed({ routing: "documents" });
    await using _ = cluster;
    const response = await old.create(PODS, pod("one", { resources: RESOURCES }));
    expect([...servedBy(response), response.headers["warning"]]).toEqual([
      201,
      undefined,
      `299 - "unknown field \\"spec.resources\\"", ${LOSS}`,
    ]);
  });
});

describe("--field-loss=refuse", () => {
  test("returns 422 that names each field and the peer that supports it, and stores nothing", async () => {
    const { cluster, old } = await mixed({ fieldLoss: "refuse" });
    await using _ = cluster;
    const response = await old.create(PODS, pod("one", { resources: RESOURCES, typo: 1 }));
    expect([response.status, response.body.reason]).toEqual([422, "Invalid"]);
    expect(response.body.details.causes).toEqual([
      {
        reason: "FieldValueForbidden",
        message: "Forbidden: a (1.31) does not know it, b (1.33) does",
        field: "spec.resources",
      },
    ]);
    expect((await old.get(`${PODS}/one`)).status).toBe(404);
    expect(servedBy(await old.create(PODS, pod("two", { typo: 1 })))).toEqual([201, undefined]);
  });
});

test("a server without the mixed version proxy uses field validation only", async () => {
  await using cluster = new TestCluster();
  await cluster.start({ release: "1.33" });
  const old = await cluster.start({ release: "1.31", gate: false });
  const response = await old.create(PODS, pod("one", { resources: RESOURCES }));
  expect([...servedBy(response), response.headers["warning"]]).toEqual([
    201,
    undefined,
    '299 - "unknown field \\"spec.resources\\""',
  ]);
});
