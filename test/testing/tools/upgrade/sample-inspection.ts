/** An inspection with an element in each of its lists, for tests of the reports. */
import type { UpgradeFinding } from "../../../../src/tools/upgrade/finding.ts";
import type { Inspection } from "../../../../src/tools/upgrade/inspect/inspection.ts";

export function sampleFinding(
  severity: UpgradeFinding["severity"],
  id: string,
  more: Partial<UpgradeFinding> = {},
): UpgradeFinding {
  return {
    id,
    severity,
    title: `title of ${id}`,
    why: `Reason of ${id}.`,
    fix: ["Run this command:", `$ kubectl get ${id}`],
    count: 1,
    subjects: [{ name: `configmaps shop/${id}`, detail: "owner: Job gone" }],
    ...more,
  };
}

export function sampleInspection(more: Partial<Inspection> = {}): Inspection {
  return {
    kind: "Inspection",
    apiVersion: "evenkeel.io/v1",
    read: {
      source: "etcd snapshot backup.db",
      revision: 4_711,
      keys: 1_234,
      bytes: 3_500_000,
      objects: 1_200,
      privateKeys: 12,
      newestTime: "2026-11-02T10:00:00Z",
      warnings: ["The newest writes may be missing."],
    },
    from: {
      release: "1.33",
      origin: "found",
      evidence: ["kube-apiserver kube-system/kube-apiserver-cp-1 runs v1.33.4"],
      candidates: [],
      atLeast: "1.32",
      servers: [
        {
          name: "kube-system/kube-apiserver-cp-1",
          image: "registry.k8s.io/kube-apiserver:v1.33.4",
          version: "v1.33.4",
          flags: ["--runtime-config=api/all=true"],
        },
      ],
      runtimeConfig: ["api/all=true"],
      featureGates: [],
      areFlagsKnown: true,
    },
    hops: ["1.34", "1.35", "1.36"],
    findings: [
      sampleFinding("error", "sample-error", { release: "1.35" }),
      sampleFinding("warning", "sample-warning"),
      sampleFinding("info", "sample-info"),
    ],
    resources: [
      {
        group: "",
        resource: "secrets",
        origin: "built-in",
        objects: 1_000,
        bytes: 3_000_000,
        encodings: { json: 0, protobuf: 400, encrypted: 600 },
        versions: [{ apiVersion: "v1", objects: 1_000 }],
        unreadable: 0,
      },
      {
        group: "shop.example",
        resource: "widgets",
        origin: "custom",
        objects: 8,
        bytes: 4_000,
        encodings: { json: 8, protobuf: 0, encrypted: 0 },
        versions: [
          { apiVersion: "shop.example/v1alpha1", objects: 5 },
          { apiVersion: "shop.example/v1beta1", objects: 3 },
        ],
        unreadable: 1,
      },
    ],
    largestObjects: [{ name: "configmaps shop/catalog", bytes: 900_000 }],
    managers: [{ manager: "kubectl", objects: 70, bytes: 100_000 }],
    clients: [
      {
        manager: "old-cd-tool",
        group: "autoscaling",
        resource: "horizontalpodautoscalers",
        apiVersion: "autoscaling/v1",
        objects: 1,
        lastTime: "2026-11-01T10:00:00Z",
        status: "removed",
        release: "1.35",
        replacement: "autoscaling/v2",
      },
    ],
    customResources: [
      {
        name: "widgets.shop.example",
        group: "shop.example",
        resource: "widgets",
        scope: "Namespaced",
        versions: [
          {
            version: "v1alpha1",
            isDeclared: true,
            isServed: true,
            isStorage: false,
            isDeprecated: true,
            objects: 5,
          },
          {
            version: "v1beta1",
            isDeclared: true,
            isServed: true,
            isStorage: true,
            isDeprecated: false,
            objects: 3,
          },
        ],
        storedVersions: ["v1alpha1", "v1beta1"],
        droppable: [],
        conversion: "Webhook",
        webhook: "shop/converter",
      },
    ],
    encryption: {
      isConfigured: true,
      keys: [
        {
          provider: "aescbc",
          version: "v1",
          key: "key1",
          resources: ["secrets"],
          values: 600,
          bytes: 2_000_000,
          status: "decrypted",
          isWriter: true,
        },
      ],
    },
    storageVersions: [
      {
        name: "apps.deployments",
        commonEncodingVersion: "apps/v1",
        servers: [{ server: "apiserver-1", encodingVersion: "apps/v1", isLive: true }],
        isAgreed: true,
      },
    ],
    identityLeases: [
      {
        name: "apiserver-1",
        holder: "apiserver-1_x",
        hostname: "cp-1",
        renewTime: "2026-11-02T10:00:00Z",
        state: "live",
      },
    ],
    namespaces: {
      namespaces: 7,
      terminating: [
        {
          name: "stuck",
          since: "2026-11-01T10:00:00Z",
          objects: 4,
          content: [{ name: "configmaps", count: 4 }],
          finalizers: ["kubernetes"],
          contentFinalizers: [],
        },
      ],
      missing: [{ name: "ghost", objects: 4, content: [{ name: "configmaps", count: 4 }] }],
    },
    unreadable: { count: 1, values: [{ key: "/registry/widgets/broken", reason: "not JSON" }] },
    ...more,
  };
}

/** The constants of the type, on which the reports decide. */
const CONSTANTS = new Set<unknown>(["error", "warning", "info", "built-in", "custom", "unknown"]);

/** Appends the hostile text to each string of the inspection that is not a constant of its type. */
export function poison(inspection: Inspection, text: string): Inspection {
  const poisoned = (value: unknown): unknown => {
    if (typeof value === "string") return CONSTANTS.has(value) ? value : value + text;
    if (Array.isArray(value)) return value.map(poisoned);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, poisoned(inner)]));
  };
  return poisoned(inspection) as Inspection;
}
