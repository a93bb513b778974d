import { describe, expect, test } from "vitest";
import { objectAt } from "../../../meta/json.ts";
import {
  alwaysAdmit,
  alwaysDeny,
  alwaysPullImages,
  denyServiceExternalIps,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
} from "./small-plugins.ts";
import {
  attributes,
  containers,
  mutated,
  pod,
  rejectionOf,
} from "../../../../test/testing/access/admission/plugins/attributes.ts";

test("AlwaysAdmit handles no write, and AlwaysDeny denies every write", async () => {
  const about = { groupVersion: { group: "", version: "v1" }, resource: "pods", subresource: "" };
  expect(alwaysAdmit().handles("CREATE", about)).toBe(false);
  const given = attributes({ object: pod({}) });
  const message = '403 pods "p" is forbidden: admission control is denying all modifications';
  expect(await rejectionOf(() => alwaysDeny().validate?.(given))).toBe(message);
  expect(await rejectionOf(() => alwaysDeny().mutate?.(given))).toBe(message);
});

test.each([
  [["1.2.3.4"], undefined, true],
  [["1.2.3.4"], ["1.2.3.4", "1.2.3.5"], false],
  [["1.2.3.6"], ["1.2.3.4"], true],
  [[], undefined, false],
])(
  "DenyServiceExternalIPs, for external IPs %j of a Service that had %j, rejects the write: %s",
  async (externalIPs, before, isRejected) => {
    const service = (addresses: readonly string[]) => ({ metadata: { name: "s" }, spec: { externalIPs: addresses } });
    const given = attributes({
      resource: "services",
      object: service(externalIPs),
      existing: before === undefined ? undefined : service(before),
    });
    const message = '403 services "s" is forbidden: Use of external IPs is denied by admission control';
    expect(await rejectionOf(() => denyServiceExternalIps().validate?.(given))).toBe(isRejected ? message : undefined);
  },
);

test("LimitPodHardAntiAffinityTopology allows only the topology key kubernetes.io/hostname", async () => {
  const terms = (topologyKey: string) => [{ topologyKey }];
  const object = (key: string) =>
    pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms(key) } } });
  const ask = (key: string) =>
    rejectionOf(() => limitPodHardAntiAffinityTopology().validate?.(attributes({ object: object(key) })));
  expect(await ask("kubernetes.io/hostname")).toBeUndefined();
  expect(await ask("zone")).toBe(
    '403 pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed',
  );
});

describe("AlwaysPullImages", () => {
  const object = pod({ containers: containers({}), volumes: [{ name: "v", image: { reference: "r" } }] });

  test("sets the pull policy Always on every image", async () => {
    expect(objectAt(await mutated(alwaysPullImages(), attributes({ object })), "spec")).toMatchObject({
      containers: [{ imagePullPolicy: "Always" }],
      volumes: [{ image: { pullPolicy: "Always" } }],
    });
  });

  test("neither changes nor rejects an update without new images", async () => {
    const given = attributes({ operation: "UPDATE", object, existing: object });
    expect(await mutated(alwaysPullImages(), given)).toBe(object);
    expect(await rejectionOf(() => alwaysPullImages().validate?.(given))).toBeUndefined();
  });

  test("rejects a pull policy that another plugin has changed after the mutation", async () => {
    const lazy = pod({ containers: [{ name: "c", image: "i", imagePullPolicy: "Never" }] });
    expect(await rejectionOf(() => alwaysPullImages().validate?.(attributes({ object: lazy })))).toBe(
      '500 pods "p" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"',
    );
  });
});

test("ExtendedResourceToleration adds tolerations for the requested extended resources", async () => {
  const known = { key: "a.com/x", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 };
  const requests = { "b.com/y": "1", "a.com/x": "1", cpu: "1" };
  const object = pod({ containers: containers({ requests }), tolerations: [known] });
  const admitted = await mutated(extendedResourceToleration(), attributes({ object }));
  expect(objectAt(admitted, "spec")["tolerations"]).toEqual([
    { key: "a.com/x", operator: "Exists", effect: "NoSchedule" },
    { key: "b.com/y", operator: "Exists", effect: "NoSchedule" },
  ]);
});
