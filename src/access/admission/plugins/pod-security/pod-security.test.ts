import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";
import {
  attributes,
  pod,
  readerOf,
  rejectionOf,
} from "../../../../../test/testing/access/admission/plugins/attributes.ts";
import {
  NO_POD_SECURITY_CONFIGURATION,
  parsePodSecurityConfiguration,
  type PodSecurityConfiguration,
} from "./configuration.ts";
import { podSecurity } from "./pod-security.ts";

const LABEL = "pod-security.kubernetes.io/";

function labelled(labels: Readonly<Record<string, string>>): JsonObject {
  const full = Object.fromEntries(Object.entries(labels).map(([key, value]) => [LABEL + key, value]));
  return { metadata: { name: "ns", labels: full } };
}

interface Answer {
  readonly rejection: string | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

async function ask(
  labels: Readonly<Record<string, string>>,
  given: Partial<Attributes> & { readonly object: JsonObject; readonly configuration?: PodSecurityConfiguration },
  pods: readonly JsonObject[] = [],
): Promise<Answer> {
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const plugin = podSecurity({
    reader: readerOf({ namespaces: [labelled(labels)], pods }),
    minor: 36,
    configuration: given.configuration ?? NO_POD_SECURITY_CONFIGURATION,
  });
  const reported = attributes({
    ...given,
    warn: (text) => void warnings.push(text),
    annotate: (key, value) => void (annotations[key] = value),
  });
  return { rejection: await rejectionOf(() => plugin.validate?.(reported)), warnings, annotations };
}

const SAFE = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
  capabilities: { drop: ["ALL"] },
};

function container(securityContext: JsonObject, more: JsonObject = {}): JsonObject {
  return { name: "c", image: "i", securityContext, ...more };
}

const SAFE_POD = pod({ containers: [container(SAFE)] });

describe("in a baseline namespace, a pod", () => {
  test.each([
    [{ hostNetwork: true, hostIPC: true }, "host namespaces (hostNetwork=true, hostIPC=true)"],
    [{ volumes: [{ name: "v", hostPath: {} }] }, 'hostPath volumes (volume "v")'],
    [{ securityContext: { sysctls: [{ name: "kernel.msgmax" }] } }, "forbidden sysctls (kernel.msgmax)"],
    [
      { securityContext: { seccompProfile: { type: "Unconfined" } } },
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      { securityContext: { seLinuxOptions: { type: "x_t", user: "u" } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x_t"; user may not be set)',
    ],
    [
      { securityContext: { windowsOptions: { hostProcess: true } } },
      "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
    ],
  ])("must not have %j", async (spec, why) => {
    const { rejection: response } = await ask({ enforce: "baseline" }, { object: pod(spec) });
    expect(response).toBe(`403 pods "p" is forbidden: violates PodSecurity "baseline:latest": ${why}`);
  });

  test.each([
    [container({ privileged: true }), 'privileged (container "c" must not set securityContext.privileged=true)'],
    [
      container({ capabilities: { add: ["NET_RAW", "CHOWN"] } }),
      'non-default capabilities (container "c" must not include "NET_RAW" in securityContext.capabilities.add)',
    ],
    [
      container({}, { ports: [{ hostPort: 80 }, { hostPort: 8080 }] }),
      'hostPort (container "c" uses hostPorts 80, 8080)',
    ],
    [
      container({}, { livenessProbe: { httpGet: { host: "h" } } }),
      'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    ],
    [
      container({ procMount: "Unmasked" }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      container({ appArmorProfile: { type: "Unconfined" } }),
      'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
    ],
  ])("must not have the container %j", async (one, why) => {
    const { rejection: response } = await ask({ enforce: "baseline" }, { object: pod({ initContainers: [one] }) });
    expect(response).toBe(`403 pods "p" is forbidden: violates PodSecurity "baseline:latest": ${why}`);
  });
});

describe("in a restricted namespace, a pod", () => {
  test("without a securityContext is rejected with every violation", async () => {
    const object = pod({ containers: [{ name: "a" }, { name: "b" }], volumes: [{ name: "v", nfs: {} }] });
    const { rejection: response } = await ask({ enforce: "restricted", "enforce-version": "v1.24" }, { object });
    const both = 'containers "a", "b"';
    expect(response).toBe(
      `403 pods "p" is forbidden: violates PodSecurity "restricted:v1.24": ${[
        `allowPrivilegeEscalation != false (${both} must set securityContext.allowPrivilegeEscalation=false)`,
        `unrestricted capabilities (${both} must set securityContext.capabilities.drop=["ALL"])`,
        'restricted volume types (volume "v" uses restricted volume type "nfs")',
        `runAsNonRoot != true (pod or ${both} must set securityContext.runAsNonRoot=true)`,
        `seccompProfile (pod or ${both} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`,
      ].join(", ")}`,
    );
  });

  test("that sets all required fields is admitted", async () => {
    expect(await ask({ enforce: "restricted" }, { object: SAFE_POD })).toEqual({
      rejection: undefined,
      warnings: [],
      annotations: { [`${LABEL}enforce-policy`]: "restricted:latest" },
    });
  });

  test("may run as root in a user namespace since 1.35, and has fewer requirements on Windows since 1.25", async () => {
    const root = pod({ containers: [container({ ...SAFE, runAsNonRoot: false, runAsUser: 0 })], hostUsers: false });
    expect((await ask({ enforce: "restricted" }, { object: root })).rejection).toBeUndefined();
    const older = await ask({ enforce: "restricted", "enforce-version": "v1.34" }, { object: root });
    expect(older.rejection).toContain("runAsUser=0");
    const windows = pod({ containers: [container({ runAsNonRoot: true })], os: { name: "windows" } });
    expect((await ask({ enforce: "restricted" }, { object: windows })).rejection).toBeUndefined();
  });
});

describe("the labels of a namespace", () => {
  const object = pod({ hostPID: true });
  const text = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)';

  test("for the modes warn and audit report violations as a warning and in the audit event", async () => {
    expect(await ask({ warn: "baseline", audit: "baseline" }, { object })).toEqual({
      rejection: undefined,
      warnings: [text],
      annotations: { [`${LABEL}enforce-policy`]: "privileged:latest", [`${LABEL}audit-violations`]: text },
    });
  });

  test("for the mode enforce do not reject a workload, but return a warning", async () => {
    const about = { groupVersion: { group: "apps", version: "v1" }, resource: "deployments" };
    const deployment = { metadata: { name: "d" }, spec: { template: { spec: { hostPID: true } } } };
    const response = await ask({ enforce: "baseline" }, { ...about, object: deployment });
    expect([response.rejection, response.warnings]).toEqual([undefined, [text]]);
  });

  test("apply to an update of a pod only if it changes an image or adds a container", async () => {
    const update = { operation: "UPDATE", object, existing: object } as const;
    expect((await ask({ enforce: "baseline" }, update)).rejection).toBeUndefined();
    const added = pod({ hostPID: true, ephemeralContainers: [{ name: "e", image: "i" }] });
    expect((await ask({ enforce: "baseline" }, { ...update, object: added })).rejection).toContain("violates");
  });

  test("enforce the level restricted if the label for enforce is invalid", async () => {
    const response = await ask({ enforce: "strict" }, { object: pod({ containers: [container({})] }) });
    expect(response.rejection).toContain('violates PodSecurity "restricted:latest"');
    expect(response.annotations[`${LABEL}error`]).toContain("must be one of privileged, baseline, restricted");
  });
});

describe("a namespace", () => {
  const about = { resource: "namespaces", namespace: "ns" };

  test("with new invalid labels is rejected", async () => {
    const response = await ask({}, { ...about, object: labelled({ enforce: "x", "warn-version": "1.2" }) });
    expect(response.rejection).toBe(
      '422 Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"]',
    );
  });

  test("with a stricter enforce level returns warnings about violating pods", async () => {
    const owned = (name: string, spec: JsonObject): JsonObject =>
      pod(spec, { name, ownerReferences: [{ controller: true, uid: "u" }] });
    const pods = [
      owned("b", { hostPID: true }),
      owned("a", { hostPID: true }),
      pod({}),
      pod({ hostIPC: true }, { name: "z" }),
    ];
    const change = { ...about, operation: "UPDATE", object: labelled({ enforce: "baseline" }) } as const;
    expect((await ask({}, { ...change, existing: labelled({}) }, pods)).warnings).toEqual([
      'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
      "a (and 2 other pods): host namespaces",
    ]);
    const relaxed = await ask({}, { ...change, existing: labelled({ enforce: "restricted" }) }, pods);
    expect(relaxed.warnings).toEqual([]);
  });
});

describe("with a configuration,", () => {
  const configuration = parsePodSecurityConfiguration({
    apiVersion: "pod-security.admission.config.k8s.io/v1",
    kind: "PodSecurityConfiguration",
    defaults: { enforce: "baseline", "enforce-version": "v1.30", warn: "restricted" },
    exemptions: { usernames: ["root"], namespaces: ["system"], runtimeClasses: ["kata"] },
  });
  const unsafe = pod({ hostNetwork: true, containers: [container(SAFE)] });
  const asked = (given: Partial<Attributes>, labels: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    ask(labels, { object: unsafe, ...given, configuration } as Parameters<typeof ask>[1]);

  test("its defaults are the policy of a namespace without labels", async () => {
    const { rejection, annotations } = await asked({});
    expect(rejection).toContain('violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)');
    expect(annotations).toMatchObject({ [`${LABEL}enforce-policy`]: "baseline:v1.30" });
    const plain = await asked({ object: pod({ containers: [container({})] }) });
    expect(plain).toMatchObject({
      rejection: undefined,
      warnings: [expect.stringContaining('would violate PodSecurity "restricted:latest"')],
    });
  });

  test("labels override its defaults, each mode and version for itself", async () => {
    expect((await asked({}, { enforce: "privileged", warn: "privileged" })).rejection).toBeUndefined();
    expect((await asked({}, { "enforce-version": "v1.31" })).rejection).toContain('"baseline:v1.31"');
    expect((await asked({}, { enforce: "nonsense" })).rejection).toContain('"restricted:v1.30"');
  });

  test.each<readonly [string, Partial<Attributes>]>([
    ["namespace", { namespace: "system" }],
    ["user", { user: { name: "root", uid: "", groups: [], extra: {} } }],
    ["runtimeClass", { object: pod({ hostNetwork: true, runtimeClassName: "kata" }) }],
  ])("a pod that an exempt %s exempts is not checked, and the audit event names the reason", async (reason, given) => {
    expect(await asked(given)).toEqual({
      rejection: undefined,
      warnings: [],
      annotations: { [`${LABEL}exempt`]: reason },
    });
  });

  test("the labels of an exempt namespace cause a warning, because they have no effect", async () => {
    const namespace = labelled({ enforce: "restricted", "audit-version": "v1.30" });
    const given = { namespace: "system", groupVersion: { group: "", version: "v1" }, resource: "namespaces" };
    expect((await asked({ ...given, operation: "CREATE", object: namespace })).warnings).toEqual([
      'namespace "ns" is exempt from Pod Security, and the policy (enforce=restricted:v1.30) will be ignored',
    ]);
  });
});

describe("a PodSecurityConfiguration", () => {
  const HEAD = { apiVersion: "pod-security.admission.config.k8s.io/v1beta1", kind: "PodSecurityConfiguration" };

  test("without defaults and exemptions changes nothing", () => {
    expect(parsePodSecurityConfiguration(HEAD)).toEqual(NO_POD_SECURITY_CONFIGURATION);
    expect(parsePodSecurityConfiguration({ ...HEAD, defaults: { enforce: "", "warn-version": "latest" } })).toEqual(
      NO_POD_SECURITY_CONFIGURATION,
    );
  });

  test.each<readonly [unknown, string]>([
    [[], "must be an object"],
    [{ ...HEAD, apiVersion: "v1" }, "must be of pod-security.admission.config.k8s.io/v1, "],
    [{ ...HEAD, extra: {} }, 'unknown field "extra"'],
    [{ ...HEAD, defaults: { enforced: "baseline" } }, 'unknown field "defaults.enforced"'],
    [{ ...HEAD, defaults: { enforce: "strict" } }, 'defaults.enforce: invalid value "strict": must be one of'],
    [
      { ...HEAD, defaults: { "audit-version": "1.30" } },
      'defaults.audit-version: invalid value "1.30": must be "latest"',
    ],
    [{ ...HEAD, exemptions: { usernames: [""] } }, "exemptions.usernames[0]"],
    [{ ...HEAD, exemptions: { namespaces: ["a", "A_"] } }, 'exemptions.namespaces[1]: invalid value "A_"'],
    [{ ...HEAD, exemptions: { namespaces: ["a", "a"] } }, "is a duplicate"],
  ])("%j is rejected", (value, message) => {
    expect(() => parsePodSecurityConfiguration(value)).toThrow(message);
  });
});
