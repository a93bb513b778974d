import { describe, expect, test } from "vitest";
import { objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";
import { attributes, readerOf, rejectionOf } from "../../../../../test/testing/access/admission/plugins/attributes.ts";
import { resourceQuota } from "./resource-quota.ts";
import { gatesOf } from "../../../../objects/catalog/release-gates.ts";

function quota(used: string, hard: string, resourceVersion = "1"): JsonObject {
  const status = { hard: { configmaps: hard }, used: { configmaps: used } };
  return { metadata: { name: "q", namespace: "ns", resourceVersion }, spec: { hard: status.hard }, status };
}

function usedOf(object: JsonObject): string {
  return stringAt(objectAt(objectAt(object, "status"), "used"), "configmaps");
}

const about = { resource: "configmaps", object: { metadata: { name: "c" } } };

/** A plugin whose store holds the quota `first` and whose cache holds the quota `known`. */
function world(first: JsonObject, known: JsonObject = first) {
  let stored = first;
  const charges: string[] = [];
  const reader = { ...readerOf({ resourcequotas: [known] }), newest: () => Promise.resolve<JsonObject>(stored) };
  const plugin = resourceQuota({
    reader,
    gates: gatesOf("1.36"),
    now: () => 0,
    chargeQuota(object, status) {
      const revision = (of: JsonObject): number => Number(stringAt(objectAt(of, "metadata"), "resourceVersion"));
      if (revision(object) !== revision(stored)) return Promise.resolve(undefined);
      stored = {
        ...stored,
        metadata: { ...objectAt(stored, "metadata"), resourceVersion: `${revision(stored) + 1}` },
        status,
      };
      charges.push(usedOf(stored));
      return Promise.resolve(stored);
    },
  });
  const ask = (more: Partial<Omit<Attributes, "object">> = {}) =>
    rejectionOf(() => plugin.validate?.(attributes({ ...about, ...more })));
  return { plugin, charges, ask };
}

const EXCEEDED =
  '403 configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2';

describe("ResourceQuota", () => {
  test("charges admitted writes until the quota is exhausted", async () => {
    const { ask, charges } = world(quota("0", "2"));
    expect([await ask(), await ask(), await ask()]).toEqual([undefined, undefined, EXCEEDED]);
    expect(charges).toEqual(["1", "2"]);
  });

  test("charges concurrent writes together, and admits as many as the quota allows", async () => {
    const { ask, charges } = world(quota("0", "4"));
    const responses = await Promise.all([ask(), ask(), ask(), ask(), ask(), ask()]);
    expect(responses.filter((response) => response === undefined)).toHaveLength(4);
    expect(charges).toEqual(["1", "4"]);
  });

  test("checks a dry run without charging it", async () => {
    const { ask, charges } = world(quota("1", "2"));
    expect([await ask({ dryRun: true }), await ask({ dryRun: true })]).toEqual([undefined, undefined]);
    expect(charges).toEqual([]);
    expect(await world(quota("2", "2")).ask({ dryRun: true })).toBe(EXCEEDED);
  });

  test("checks the write against the newest quota if another server has charged the quota", async () => {
    const { ask, charges } = world(quota("1", "2", "7"), quota("0", "2", "3"));
    expect(await ask()).toBeUndefined();
    expect(charges).toEqual(["2"]);
    expect(await world(quota("2", "2", "7"), quota("0", "2", "3")).ask()).toBe(EXCEEDED);
  });

  test("returns a conflict if the quota changes between every check and charge", async () => {
    let tries = 0;
    const plugin = resourceQuota({
      reader: readerOf({ resourcequotas: [quota("0", "2")] }),
      gates: gatesOf("1.36"),
      now: () => 0,
      chargeQuota: () => Promise.resolve(void tries++),
    });
    expect(await rejectionOf(() => plugin.validate?.(attributes(about)))).toBe(
      '409 Operation cannot be fulfilled on resourcequotas "q": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(tries).toBe(4);
  });

  test("rejects the waiting writes if the store fails, but not later writes", async () => {
    let isBroken = true;
    const plugin = resourceQuota({
      reader: readerOf({ resourcequotas: [quota("0", "2")] }),
      gates: gatesOf("1.36"),
      now: () => 0,
      chargeQuota: (object) => (isBroken ? Promise.reject(new Error("down")) : Promise.resolve(object)),
    });
    await expect(plugin.validate?.(attributes(about))).rejects.toThrow("down");
    isBroken = false;
    expect(await rejectionOf(() => plugin.validate?.(attributes(about)))).toBeUndefined();
  });

  test("does nothing in a namespace without a quota", async () => {
    const { ask, charges } = world(quota("2", "2"));
    expect(await ask({ namespace: "other" })).toBeUndefined();
    expect(await ask({ namespace: "" })).toBeUndefined();
    expect(charges).toEqual([]);
  });

  test.each([
    ["CREATE", "", "pods", true],
    ["UPDATE", "", "pods/resize", true],
    ["UPDATE", "", "persistentvolumeclaims/status", true],
    ["UPDATE", "", "configmaps", false],
    ["UPDATE", "", "pods/status", false],
    ["CREATE", "", "pods/binding", false],
    ["CREATE", "", "events", false],
    ["CREATE", "authorization.k8s.io", "localsubjectaccessreviews", false],
    ["CREATE", "example.com", "things", true],
    ["DELETE", "", "pods", false],
  ] as const)("handles %s in the group %j of the resource %s: %s", (operation, group, path, expected) => {
    const [resource = "", subresource = ""] = path.split("/");
    const handled = world(quota("0", "1")).plugin.handles(operation, {
      groupVersion: { group, version: "v1" },
      resource,
      subresource,
    });
    expect(handled).toBe(expected);
  });
});
