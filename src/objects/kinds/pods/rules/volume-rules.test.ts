import { expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { container, CONTEXT, pod, messagesOf } from "../../../../../test/testing/objects/kinds/pods/pods.ts";
import { podCreateErrors } from "./pod-rules.ts";

function errors(volume: JsonObject, spec: JsonObject = {}): string[] {
  return messagesOf(podCreateErrors(pod({ volumes: [{ name: "v", ...volume }], ...spec }), CONTEXT));
}

test.each<[volume: JsonObject, expected: string[]]>([
  [{ name: "" }, ["name: Required value"]],
  [{ emptyDir: {}, hostPath: { path: "/" } }, ["hostPath: Forbidden: may not specify more than 1 volume type"]],
  [
    { hostPath: { path: "/a/../b", type: "Tape" } },
    [
      `hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
      'hostPath.type: Unsupported value: "Tape": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
  ],
  [
    { secret: { defaultMode: 512 } },
    [
      "secret.secretName: Required value",
      "secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
    ],
  ],
  [
    {
      configMap: {
        name: "c",
        items: [
          { key: "k", path: "/abs" },
          { key: "", path: "..x" },
        ],
      },
    },
    [
      'configMap.items[0].path: Invalid value: "/abs": must be a relative path',
      "configMap.items[1].key: Required value",
      `configMap.items[1].path: Invalid value: "..x": must not start with '..'`,
    ],
  ],
  [{ persistentVolumeClaim: {} }, ["persistentVolumeClaim.claimName: Required value"]],
  [{ nfs: { server: "s", path: "p" } }, ['nfs.path: Invalid value: "p": must be an absolute path']],
])("the volume %j has the expected errors", (volume, expected) => {
  expect(errors(volume)).toEqual(expected.map((error) => `spec.volumes[0].${error}`));
});

test.each<[volume: JsonObject, expected: string[]]>([
  [
    { downwardAPI: { items: [{ path: "p" }] } },
    ["downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
  ],
  [
    { projected: { sources: [{ secret: { name: "s" }, configMap: { name: "c" } }] } },
    ["projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"],
  ],
  [
    {
      projected: {
        sources: [
          {
            secret: {
              name: "s",
              items: [
                { key: "a", path: "x" },
                { key: "b", path: "x" },
              ],
            },
          },
        ],
      },
    },
    ['projected: Invalid value: "s": conflicting duplicate paths'],
  ],
  [
    { csi: { driver: "Bad_Driver" } },
    [
      `csi.driver: Invalid value: "Bad_Driver": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  ],
  [
    { ephemeral: { volumeClaimTemplate: { metadata: { name: "x" }, spec: {} } } },
    [
      "ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
      "ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
      "ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
    ],
  ],
  [{ image: {} }, ["image.reference: Required value"]],
  [
    { gcePersistentDisk: { partition: 300 } },
    [
      "persistentDisk.pdName: Required value",
      "persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive",
    ],
  ],
  [
    { iscsi: { targetPortal: "t", iqn: "x" } },
    ['iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa'],
  ],
])("the volume %j has the expected errors", (volume, expected) => {
  expect(errors(volume)).toEqual(expected.map((error) => `spec.volumes[0].${error}`));
});

test("volume names are unique, and an invalid volume cannot be mounted", () => {
  const volumes = [{ name: "v" }, { name: "v" }, { name: "wrong", secret: {} }];
  const mounts = [
    { name: "v", mountPath: "/v" },
    { name: "wrong", mountPath: "/w" },
  ];
  expect(messagesOf(podCreateErrors(pod({ volumes, ...container({ volumeMounts: mounts }) }), CONTEXT))).toEqual([
    'spec.volumes[1].name: Duplicate value: "v"',
    "spec.volumes[2].secret.secretName: Required value",
    'spec.containers[0].volumeMounts[1].name: Not found: "wrong"',
  ]);
});

test("a projected token needs a service account", () => {
  const token = { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } };
  expect(errors(token)).toEqual([
    "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
  ]);
  expect(errors(token, { serviceAccountName: "robot" })).toEqual([]);
});
