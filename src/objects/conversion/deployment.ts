/** Converts Deployments: only apps/v1beta1 has spec.rollbackTo, later versions store it in an annotation. */
import { annotationsOf, isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";
import { changeAnnotations, omitMembers } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

/** The annotation that stores spec.rollbackTo of apps/v1beta1 in later versions. */
const ROLLBACK_TO = "deprecated.deployment.rollback.to";

export const DEPLOYMENT_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["Deployment"],
    hub: ["apps/v1", "apps/v1beta2"],
    spokes: [{ versions: ["apps/v1beta1"], toHub: rollbackToAnnotation, fromHub: rollbackFromAnnotation }],
  },
]);

function rollbackToAnnotation(deployment: JsonObject): JsonObject {
  const spec = objectAt(deployment, "spec");
  const rollbackTo = spec["rollbackTo"];
  if (!isJsonObject(rollbackTo)) return deployment;
  const revision = Number(rollbackTo["revision"] ?? 0);
  return changeAnnotations(
    { ...deployment, spec: omitMembers(spec, ["rollbackTo"]) },
    { [ROLLBACK_TO]: `${revision}` },
  );
}

/** Converts the annotation to spec.rollbackTo, unless its value is not a revision. */
function rollbackFromAnnotation(deployment: JsonObject): JsonObject {
  const annotation = annotationsOf(deployment)[ROLLBACK_TO];
  const revision = Number(annotation);
  if (typeof annotation !== "string" || annotation === "" || !Number.isSafeInteger(revision)) return deployment;
  const rollbackTo = revision === 0 ? {} : { revision };
  const spec = { ...objectAt(deployment, "spec"), rollbackTo };
  return changeAnnotations({ ...deployment, spec }, { [ROLLBACK_TO]: undefined });
}
