/** Tests of a server that emulates an earlier release (--emulated-version). */
import { describe, expect, test } from "vitest";
import { resolveOptions, type ServerOptions } from "../../src/server/config.ts";
import { OptionError } from "../../src/base/option-error.ts";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const CLASSES = "/apis/resource.k8s.io/v1beta2/deviceclasses";
/** A feature gate that was introduced in 1.34. */
const LATER_GATE = "PodCertificateRequest";
const DRA = ["resource.k8s.io/v1beta1=true", "resource.k8s.io/v1beta2=true"];

function deviceClass(name: string, version: string): Json {
  return { apiVersion: `resource.k8s.io/${version}`, kind: "DeviceClass", metadata: { name }, spec: {} };
}

async function storedVersion({ world, kv }: TestServer, key: string): Promise<string> {
  const { items } = await world.run(kv.range({ start: key }));
  const stored: Json = JSON.parse(String(items[0]?.value));
  return stored.apiVersion;
}

function served(response: ApiTestResponse): string[] {
  return response.body.items.flatMap((group: Json) =>
    group.versions.flatMap((version: Json) =>
      version.resources.map((resource: Json) => `${group.metadata.name}/${version.version} ${resource.resource}`),
    ),
  );
}

describe("an emulating server", () => {
  test("returns its binary version, emulation version and minimum compatibility version at /version", async () => {
    await using api = await startServer({ release: "1.36", emulatedVersion: ["1.35"] });
    expect((await api.get("/version")).body).toMatchObject({
      ...{ major: "1", minor: "36", gitVersion: "v1.36.4+evenkeel" },
      ...{ emulationMajor: "1", emulationMinor: "35", minCompatibilityMajor: "1", minCompatibilityMinor: "34" },
    });
  });

  test("differs at /version from a server without emulation, which from 1.33 on reports its own release as its emulation version", async () => {
    await using newer = await startServer({ release: "1.36" });
    expect((await newer.get("/version")).body).toMatchObject({ emulationMinor: "36", minCompatibilityMinor: "35" });
    await using older = await startServer({ release: "1.32" });
    expect(Object.keys((await older.get("/version")).body)).not.toContain("emulationMinor");
  });

  test("publishes its versions in the metric version_info and in its identity lease", async () => {
    await using api = await startServer({
      ...{ release: "1.36", emulatedVersion: ["1.35"], minCompatibilityVersion: ["1.33"] },
      peers: { serverId: "one" },
    });
    const series = 'version_info{component="kube",binary="1.36.4",emulation="1.35",min_compat="1.33"}';
    expect(await api.metric(series)).toBe(1);
    expect(await api.metric('kubernetes_build_info{major="1",minor="36",git_version="v1.36.4"}')).toBe(1);
    const lease = await api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/one");
    expect(lease.body.metadata.annotations).toMatchObject({
      "evenkeel.io/release": "1.35",
      "evenkeel.io/binary-version": "1.36.4",
      "evenkeel.io/compatibility-version": "1.35",
    });
  });
});

describe("the resources of an emulating server", () => {
  test("are those of the emulated release", async () => {
    await using emulating = await startServer({ release: "1.36", emulatedVersion: ["1.34"] });
    await using own = await startServer({ release: "1.34" });
    const [as, plain] = [emulating, own].map((api) => api.get("/apis", { accept: AGGREGATED }));
    expect(served(await as!).toSorted()).toEqual(served(await plain!).toSorted());
    const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    expect((await emulating.get(policies)).status).toBe(404);
  });

  test("include later versions of these resources if --emulation-forward-compatible is set", async () => {
    await using api = await startServer({
      ...{ release: "1.34", emulatedVersion: ["1.33"], runtimeConfig: DRA },
      emulationForwardCompatible: true,
    });
    const v1 = CLASSES.replace("v1beta2", "v1");
    expect((await api.create(v1, deviceClass("one", "v1"))).status).toBe(201);
    expect((await api.get(`${CLASSES}/one`)).body.apiVersion).toBe("resource.k8s.io/v1beta2");
    expect((await api.get(`${v1}/one`)).body.apiVersion).toBe("resource.k8s.io/v1");
    expect(await storedVersion(api, "/registry/deviceclasses/one")).not.toBe("resource.k8s.io/v1");
    expect((await api.get("/openapi/v3/apis/resource.k8s.io/v1")).status).toBe(200);
  });
});

describe("the stored objects of a server with an emulated version or a minimum compatibility version", () => {
  test("are encoded in a version that the minimum compatibility version can decode", async () => {
    const options: Partial<ServerOptions> = { release: "1.36", runtimeConfig: DRA };
    await using usual = await startServer(options);
    await usual.create(CLASSES, deviceClass("one", "v1beta2"));
    expect(await storedVersion(usual, "/registry/deviceclasses/one")).toBe("resource.k8s.io/v1");
    await using careful = await startServer({ ...options, minCompatibilityVersion: ["1.33"] });
    await careful.create(CLASSES, deviceClass("one", "v1beta2"));
    expect(await storedVersion(careful, "/registry/deviceclasses/one")).toBe("resource.k8s.io/v1beta2");
  });

  test("include objects that the binary wrote before the emulation, and a server without emulation can read all of them", async () => {
    await using before = await startServer({ release: "1.36" });
    const { world } = before;
    await before.create(CLASSES.replace("v1beta2", "v1"), deviceClass("one", "v1"));
    await using emulating = await startServer({
      ...{ world, release: "1.36", emulatedVersion: ["1.33"], runtimeConfig: DRA },
    });
    const read = await emulating.get(`${CLASSES}/one`);
    expect([read.status, read.body.apiVersion]).toEqual([200, "resource.k8s.io/v1beta2"]);
    const changed = await emulating.mergePatch(`${CLASSES}/one`, { metadata: { labels: { a: "b" } } });
    expect(changed.status).toBe(200);
    expect(await storedVersion(emulating, "/registry/deviceclasses/one")).not.toBe("resource.k8s.io/v1");
    const again = await before.get("/apis/resource.k8s.io/v1/deviceclasses/one");
    expect([again.status, again.body.metadata.labels]).toEqual([200, { a: "b" }]);
  });

  test("have a StorageVersion with an encoding version of the emulated release and all versions that the binary can decode", async () => {
    await using api = await startServer({
      ...{ release: "1.36", emulatedVersion: ["1.33"], runtimeConfig: DRA, strictRelease: false },
      peers: { serverId: "one" },
    });
    const path = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/resource.k8s.io.deviceclasses";
    const [entry] = (await api.get(path)).body.status.storageVersions;
    expect(entry.encodingVersion).not.toBe("resource.k8s.io/v1");
    expect(entry.decodableVersions).toContain("resource.k8s.io/v1");
    expect(entry.servedVersions).not.toContain("resource.k8s.io/v1");
  });
});

describe("the options", () => {
  const CASES: readonly [options: Partial<ServerOptions>, message: string][] = [
    [{ release: "1.36", emulatedVersion: ["1.37"] }, "emulation version 1.37 is not between [1.33, 1.36]"],
    [
      { release: "1.34", emulatedVersion: ["1.33"], runtimeConfig: ["resource.k8s.io/v1/deviceclasses=true"] },
      "cannot enable resource resource.k8s.io/v1, Resource=deviceclasses in runtime-config because it is introduced " +
        "at 1.34 after the current version 1.33. Consider setting --runtime-config-emulation-forward-compatible=true",
    ],
  ];

  test.each(CASES)("%j are rejected: %s", (options, message) => {
    const given = { storage: { kind: "memory" } as const, ...options };
    expect(() => resolveOptions(given)).toThrow(new OptionError(message));
  });

  test("cannot set a feature gate that was introduced after the emulated release", () => {
    const gate = (name: string, emulated: string): ServerOptions => ({
      storage: { kind: "memory" },
      ...{ release: "1.36", emulatedVersion: [emulated], featureGates: [`${name}=true`] },
    });
    expect(() => resolveOptions(gate(LATER_GATE, "1.35"))).not.toThrow();
    expect(() => resolveOptions(gate(LATER_GATE, "1.33"))).toThrow(
      `cannot set feature gate ${LATER_GATE} to true, feature is PreAlpha at emulated version 1.33, min compatibility version 1.33`,
    );
  });

  test("enable VersionAwareProxying unless strictRelease is set, and a feature gate overrides this default", () => {
    const isOn = (options: Partial<ServerOptions>): boolean =>
      resolveOptions({ storage: { kind: "memory" }, ...options }).isVersionAware;
    expect([isOn({}), isOn({ strictRelease: true })]).toEqual([true, false]);
    expect(isOn({ featureGates: ["VersionAwareProxying=false"] })).toBe(false);
    expect(isOn({ strictRelease: true, featureGates: ["VersionAwareProxying=true"] })).toBe(true);
  });
});
