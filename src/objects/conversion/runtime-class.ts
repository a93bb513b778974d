/** Converts RuntimeClasses: v1alpha1 has the fields of later versions in a spec. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { omitMembers, renameMembers } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

const ENVELOPE_MEMBERS: readonly string[] = Object.freeze(["apiVersion", "kind", "metadata"]);

export const RUNTIME_CLASS_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["RuntimeClass"],
    hub: ["node.k8s.io/v1", "node.k8s.io/v1beta1"],
    spokes: [{ versions: ["node.k8s.io/v1alpha1"], toHub: liftSpec, fromHub: sinkSpec }],
  },
]);

function liftSpec(runtimeClass: JsonObject): JsonObject {
  const { spec: _, ...own } = runtimeClass;
  const lifted = renameMembers(objectAt(runtimeClass, "spec"), { runtimeHandler: "handler" });
  return { ...own, ...omitMembers(lifted, ENVELOPE_MEMBERS) };
}

function sinkSpec(runtimeClass: JsonObject): JsonObject {
  const envelope = Object.entries(runtimeClass).filter(([key]) => ENVELOPE_MEMBERS.includes(key));
  const spec = renameMembers(omitMembers(runtimeClass, ENVELOPE_MEMBERS), { handler: "runtimeHandler" });
  return { ...Object.fromEntries(envelope), spec };
}
