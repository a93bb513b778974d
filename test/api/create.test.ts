import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, deployment, header, PODS, pod, startServer } from "./start.ts";

describe("creation", () => {
  test("stores an object with a uid, a creation time and a resource version, and a GET returns the same object", async () => {
    await using api = await startServer();
    const created = await api.create(CONFIG_MAPS, configMap("one"));
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: {
        name: "one",
        namespace: "default",
        uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        resourceVersion: expect.stringMatching(/^[0-9]+$/),
        creationTimestamp: "2030-01-01T00:00:00Z",
        managedFields: expect.any(Array),
      },
      data: { a: "1" },
    });
    expect((await api.get(`${CONFIG_MAPS}/one`)).text).toBe(created.text);
  });

  test("of a cluster-scoped object needs no namespace", async () => {
    await using api = await startServer();
    const body = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "system:reader" },
      rules: [],
    };
    const created = await api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", body);
    expect(created.status).toBe(201);
    expect(created.body.metadata.namespace).toBeUndefined();
    expect((await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:reader")).status).toBe(200);
  });

  test("accepts an object without kind and apiVersion, and takes them from the path", async () => {
    await using api = await startServer();
    const created = await api.create(CONFIG_MAPS, { metadata: { name: "bare" } });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ kind: "ConfigMap", apiVersion: "v1" });
  });

  test("of an existing object returns 409 AlreadyExists", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("one"));
    const again = await api.create(CONFIG_MAPS, configMap("one"));
    expect(again.status).toBe(409);
    expect(again.body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'configmaps "one" already exists',
      reason: "AlreadyExists",
      details: { name: "one", kind: "configmaps" },
      code: 409,
    });
  });

  test("ignores values that the client sends for fields that the server sets", async () => {
    await using api = await startServer();
    const metadata = {
      uid: "mine",
      creationTimestamp: "2001-01-01T00:00:00Z",
      selfLink: "/x",
      deletionTimestamp: "2001-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 5,
    };
    const { body } = await api.create(CONFIG_MAPS, configMap("sys", { metadata }));
    expect(body.metadata.uid).not.toBe("mine");
    expect(body.metadata.creationTimestamp).toBe("2030-01-01T00:00:00Z");
    expect(body.metadata).not.toHaveProperty("selfLink");
    expect(body.metadata).not.toHaveProperty("deletionTimestamp");
    expect(body.metadata).not.toHaveProperty("deletionGracePeriodSeconds");
  });

  test("of an object with a resource version is rejected", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, configMap("one", { metadata: { resourceVersion: "5" } }));
    expect(response.status).toBe(500);
    expect(response.body.message).toBe("resourceVersion should not be set on objects to be created");
  });

  test("drops the status if the kind has a status subresource", async () => {
    await using api = await startServer();
    const { body } = await api.create("/apis/apps/v1/namespaces/default/deployments", {
      ...deployment("web"),
      status: { replicas: 7 },
    });
    expect(body.status?.replicas).toBeUndefined();
  });

  test("sets the phase of a pod to Pending", async () => {
    await using api = await startServer();
    const { body } = await api.create(PODS, { ...pod("p"), status: { phase: "Running" } });
    expect(body.status.phase).toBe("Pending");
  });

  test("is rejected if the namespace of the object is not that of the path", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, configMap("one", { metadata: { namespace: "other" } }));
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  });

  test("of a secret converts stringData to data, and defaults the type to Opaque", async () => {
    await using api = await startServer();
    const { body } = await api.create("/api/v1/namespaces/default/secrets", {
      kind: "Secret",
      apiVersion: "v1",
      metadata: { name: "s" },
      stringData: { p: "hello" },
    });
    expect(body.data).toEqual({ p: "aGVsbG8=" });
    expect(body.type).toBe("Opaque");
    expect(body).not.toHaveProperty("stringData");
  });
});

describe("data", () => {
  const SECRETS = "/api/v1/namespaces/default/secrets";
  const MEBIBYTE = 1024 * 1024;

  test("of a config map may have at most 1 MiB in total", async () => {
    await using api = await startServer();
    expect((await api.create(CONFIG_MAPS, configMap("fits", { data: { a: "x".repeat(MEBIBYTE) } }))).status).toBe(201);
    const tooLong = await api.create(
      CONFIG_MAPS,
      configMap("long", { data: { a: "x".repeat(MEBIBYTE) }, binaryData: { b: "eA==" } }),
    );
    expect(tooLong.status).toBe(422);
    expect(tooLong.body.message).toBe('ConfigMap "long" is invalid: []: Too long: may not be more than 1048576 bytes');
  });

  test("of a secret may have at most 1 MiB after decoding", async () => {
    await using api = await startServer();
    const secret = (bytes: number) => ({
      metadata: { name: `s${bytes}` },
      data: { a: Buffer.alloc(bytes).toString("base64") },
    });
    expect((await api.create(SECRETS, secret(MEBIBYTE))).status).toBe(201);
    expect((await api.create(SECRETS, secret(MEBIBYTE + 1))).status).toBe(422);
  });

  test("of a config map must not share a key with binaryData", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, configMap("twice", { binaryData: { a: "eA==" } }));
    expect(response.status).toBe(422);
    expect(response.body.message).toContain("data[a]: Invalid value");
  });

  test("of a secret with a known type must contain the keys of that type", async () => {
    await using api = await startServer();
    const response = await api.create(SECRETS, { metadata: { name: "s" }, type: "kubernetes.io/tls", data: {} });
    expect(response.status).toBe(422);
    expect(response.body.details.causes.map(({ field }: { field: string }) => field)).toEqual([
      "data[tls.crt]",
      "data[tls.key]",
    ]);
  });

  test("of a secret must be base64", async () => {
    await using api = await startServer();
    const response = await api.create(SECRETS, { metadata: { name: "s" }, data: { p: "not base64!" } });
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 3',
    );
  });
});

describe("metadata", () => {
  test("needs a name or a generateName", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, { kind: "ConfigMap", apiVersion: "v1", metadata: {} });
    expect(response.status).toBe(422);
    expect(response.body.message).toBe(
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    );
    expect(response.body.details.causes).toEqual([
      {
        reason: "FieldValueRequired",
        message: "Required value: name or generateName is required",
        field: "metadata.name",
      },
    ]);
  });

  test.each(["Bad", "a/b", "a".repeat(254), "-a", "a..b", "a b"])("with the name %s is invalid", async (name) => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, configMap(name));
    expect(response.status).toBe(422);
    expect(response.body.details).toMatchObject({ name, kind: "ConfigMap" });
    expect(response.body.details.causes[0].field).toBe("metadata.name");
  });

  test("must have valid label and annotation keys and valid label values", async () => {
    await using api = await startServer();
    const causes = async (metadata: object): Promise<string[]> => {
      const { status, body } = await api.create(CONFIG_MAPS, configMap("ok", { metadata }));
      expect(status).toBe(422);
      return body.details.causes.map((cause: { field: string }) => cause.field);
    };
    expect(await causes({ labels: { "bad key!": "x" } })).toEqual(["metadata.labels"]);
    expect(await causes({ labels: { k: "bad value!" } })).toEqual(["metadata.labels"]);
    expect(await causes({ annotations: { "bad key!": "x" } })).toEqual(["metadata.annotations"]);
  });

  test("may have at most 256 KiB of annotations", async () => {
    await using api = await startServer();
    expect(
      (
        await api.create(
          CONFIG_MAPS,
          configMap("fits", { metadata: { annotations: { k: "x".repeat(256 * 1024 - 1) } } }),
        )
      ).status,
    ).toBe(201);
    const tooLong = await api.create(
      CONFIG_MAPS,
      configMap("long", { metadata: { annotations: { k: "x".repeat(256 * 1024) } } }),
    );
    expect(tooLong.status).toBe(422);
    expect(tooLong.body.details.causes[0].reason).toBe("FieldValueTooLong");
  });

  test("with a duplicate owner reference keeps one of the duplicates, with a warning", async () => {
    await using api = await startServer();
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "u" };
    const other = { ...owner, uid: "v" };
    const response = await api.create(
      CONFIG_MAPS,
      configMap("o", { metadata: { ownerReferences: [owner, other, owner] } }),
    );
    expect(response.status).toBe(201);
    expect(response.body.metadata.ownerReferences).toEqual([owner, other]);
    expect(header(response, "warning")).toContain("duplicate UID(s) observed: u");
  });

  test("must have complete owner references", async () => {
    await using api = await startServer();
    const metadata = { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "", uid: "" }] };
    const response = await api.create(CONFIG_MAPS, configMap("o", { metadata }));
    expect(response.status).toBe(422);
    expect(response.body.details.causes.map(({ field }: { field: string }) => field)).toEqual([
      "metadata.ownerReferences.name",
      "metadata.ownerReferences.uid",
    ]);
  });

  test("may have only one controller among the owners", async () => {
    await using api = await startServer();
    const owner = (kind: string) => ({ apiVersion: "v1", kind, name: "x", uid: kind, controller: true });
    const response = await api.create(
      CONFIG_MAPS,
      configMap("o", { metadata: { ownerReferences: [owner("A"), owner("B")] } }),
    );
    expect(response.status).toBe(422);
    expect(response.body.message).toContain(
      'Only one reference can have Controller set to true. Found "true" in references for A/x and B/x',
    );
  });

  test("with a generateName gets a name of the prefix and five random characters that are not vowels", async () => {
    await using api = await startServer();
    const { status, body } = await api.create(CONFIG_MAPS, { metadata: { generateName: "gen-" } });
    expect(status).toBe(201);
    expect(body.metadata).toMatchObject({
      generateName: "gen-",
      name: expect.stringMatching(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/),
    });
  });

  test("with a long generateName gets a name of 63 characters", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, { metadata: { generateName: "a".repeat(80) } });
    expect(body.metadata.name).toHaveLength(63);
  });

  test("with a name and a generateName uses the name", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, { metadata: { name: "given", generateName: "gen-" } });
    expect(body.metadata.name).toBe("given");
  });

  test("with a generateName returns 409 with Retry-After if eight generated names in a row are taken", async () => {
    let draws = 0;
    const random = { float: () => (draws++, 0), bytes: (length: number) => new Uint8Array(length) };
    await using api = await startServer({ random });
    await api.create(CONFIG_MAPS, { metadata: { generateName: "gen-" } });
    draws = 0;
    const response = await api.create(CONFIG_MAPS, { metadata: { generateName: "gen-" } });
    expect(draws).toBe(8 * 5);
    expect(response.status).toBe(409);
    expect(response.body).toMatchObject({
      reason: "AlreadyExists",
      details: { name: "gen-bbbbb", retryAfterSeconds: 1 },
    });
    expect(header(response, "retry-after")).toBe("1");
  });
});
