/**
 * The template generation of a DaemonSet, which counts the changes of its pod template. In apps/v1 it is an annotation
 * that only the server writes.
 */
import { objectAt, specOf, type JsonObject } from "../../../meta/json.ts";
import { isSemanticallyEqual } from "../../../meta/semantic-equality.ts";
import { structAt } from "../defaults.ts";

const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

/** DIFFERS: a malformed number counts as 0; kubernetes cannot decode such an object. */
export function templateGeneration(daemonSet: JsonObject): number {
  const annotation = objectAt(objectAt(daemonSet, "metadata"), "annotations")[TEMPLATE_GENERATION];
  const generation = Number(annotation ?? 0);
  return Number.isSafeInteger(generation) ? generation : 0;
}

export function templateGenerationAfter(daemonSet: JsonObject, existing: JsonObject): number {
  const isSame = isSemanticallyEqual(specOf(daemonSet)["template"], specOf(existing)["template"]);
  return templateGeneration(existing) + (isSame ? 0 : 1);
}

/** Sets the annotation in place. */
export function setTemplateGeneration(daemonSet: JsonObject, generation: number): void {
  const metadata = structAt(daemonSet, "metadata");
  metadata["annotations"] = { ...objectAt(metadata, "annotations"), [TEMPLATE_GENERATION]: `${generation}` };
}
