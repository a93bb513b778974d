import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { parseCrd } from "./crd.ts";
import { decidedStatus, takenNames, terminating, withCrdConditions } from "./status.ts";
import { definitionObject, establishedDefinition } from "../../../test/testing/extensions/crd/crd-object.ts";

const NOW = "2026-01-01T00:00:00Z";
const NAMES = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" };
const OTHER = establishedDefinition(
  {},
  { plural: "others", singular: "other", kind: "Other", listKind: "OtherList", shortNames: ["ot"] },
);

function decided(object: JsonObject, others = [OTHER]): JsonObject | undefined {
  const definition = parseCrd(object);
  return decidedStatus(object, { definition, taken: takenNames(definition.group, others), now: NOW });
}

function conditionsOf(status: JsonObject | undefined): Record<string, JsonObject> {
  const conditions = status?.["conditions"] as JsonObject[];
  return Object.fromEntries(conditions.map((condition) => [String(condition["type"]), condition]));
}

describe("the status of a new CRD", () => {
  test("accepts names that are free, and is established at once", () => {
    const status = decided(definitionObject({ names: { ...NAMES, shortNames: ["wd"] } }));
    expect(status?.["acceptedNames"]).toEqual({ ...NAMES, shortNames: ["wd"] });
    expect(status?.["conditions"]).toEqual([
      {
        type: "NamesAccepted",
        status: "True",
        lastTransitionTime: NOW,
        reason: "NoConflicts",
        message: "no conflicts found",
      },
      {
        type: "Established",
        status: "True",
        lastTransitionTime: NOW,
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      },
    ]);
  });

  test.each<[string, JsonObject, string]>([
    ["a singular", { singular: "other" }, "SingularConflict"],
    ["a singular that is a short name", { singular: "ot" }, "SingularConflict"],
    ["a short name", { shortNames: ["others"] }, "ShortNamesConflict"],
    ["a kind", { kind: "Other" }, "KindConflict"],
    ["a list kind", { listKind: "OtherList" }, "ListKindConflict"],
  ])("rejects %s that another CRD has", (_what, names, reason) => {
    const status = decided(definitionObject({ names: { ...NAMES, ...names } }));
    const { NamesAccepted, Established } = conditionsOf(status);
    expect(NamesAccepted).toMatchObject({ status: "False", reason });
    expect(Established).toMatchObject({ status: "False", reason: "NotAccepted" });
  });

  test("reports only the last of several conflicts", () => {
    const { NamesAccepted } = conditionsOf(
      decided(definitionObject({ names: { ...NAMES, singular: "other", listKind: "Other" } })),
    );
    expect(NamesAccepted).toMatchObject({ reason: "ListKindConflict", message: '"Other" is already in use' });
  });

  test("ignores CRDs of other groups", () => {
    const foreign = { ...OTHER, group: "other.example.com" };
    const { NamesAccepted } = conditionsOf(
      decided(definitionObject({ names: { ...NAMES, kind: "Other" } }), [foreign]),
    );
    expect(NamesAccepted?.["status"]).toBe("True");
  });
});

describe("the status of an established CRD", () => {
  const before = decided(definitionObject({ names: { ...NAMES, shortNames: ["wd"] } }))!;

  test("is not written again if nothing changes", () => {
    expect(decided(definitionObject({ names: { ...NAMES, shortNames: ["wd"] } }, before))).toBeUndefined();
  });

  test("keeps the accepted names if the new names are taken, and stays established", () => {
    const status = decided(definitionObject({ names: { ...NAMES, shortNames: ["ot"] } }, before));
    expect(status?.["acceptedNames"]).toMatchObject({ shortNames: ["wd"] });
    const { NamesAccepted, Established } = conditionsOf(status);
    expect(NamesAccepted).toMatchObject({ status: "False", reason: "ShortNamesConflict" });
    expect(Established).toMatchObject({ status: "True" });
  });

  test("keeps names that another CRD requests later", () => {
    const rival = establishedDefinition({}, { plural: "rivals", singular: "widget", kind: "Widget" });
    expect(decided(definitionObject({ names: { ...NAMES, shortNames: ["wd"] } }, before), [rival])).toBeUndefined();
  });
});

describe("the approval condition of a protected group", () => {
  test.each<[string, string, string]>([
    ["", "False", "MissingAnnotation"],
    ["unapproved, for a test", "False", "UnapprovedAnnotation"],
    ["https://github.com/kubernetes/kubernetes/pull/1", "True", "ApprovedAnnotation"],
    ["by my neighbor", "False", "InvalidAnnotation"],
  ])("with the annotation %j has status %s and reason %s", (annotation, status, reason) => {
    const object = definitionObject({ group: "a.k8s.io", names: NAMES });
    const metadata = object["metadata"] as JsonObject;
    if (annotation !== "") metadata["annotations"] = { "api-approved.kubernetes.io": annotation };
    const { KubernetesAPIApprovalPolicyConformant: reported } = conditionsOf(decided(object));
    expect(reported).toMatchObject({ status, reason });
  });

  test.each(["example.com", "notk8s.io", "k8s.io.example.com"])("is not set for the group %s", (group) => {
    expect(conditionsOf(decided(definitionObject({ group, names: NAMES })))).not.toHaveProperty(
      "KubernetesAPIApprovalPolicyConformant",
    );
  });
});

describe("a condition", () => {
  const held = terminating("True", "InstanceDeletionInProgress", "x");

  test("replaces the condition of the same type, and changes lastTransitionTime only if the status changes", () => {
    const before = withCrdConditions({ other: 1 }, [held], NOW);
    const later = "2026-01-02T00:00:00Z";
    const same = withCrdConditions(before, [terminating("True", "Other", "y")], later);
    expect(same).toEqual({
      other: 1,
      conditions: [{ type: "Terminating", status: "True", lastTransitionTime: NOW, reason: "Other", message: "y" }],
    });
    const changed = withCrdConditions(before, [terminating("False", "Done", "z")], later);
    expect(conditionsOf(changed)["Terminating"]).toMatchObject({ status: "False", lastTransitionTime: later });
  });

  test("is added to the other conditions, even if some are malformed", () => {
    expect(withCrdConditions({ conditions: "x" }, [held], NOW)["conditions"]).toHaveLength(1);
    const own = { type: "Mine", status: "True" };
    expect(conditionsOf(withCrdConditions({ conditions: [own, 7] }, [held], NOW))).toMatchObject({ Mine: own });
  });
});
