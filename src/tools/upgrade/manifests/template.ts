/**
 * Recognizes the templates of Helm charts, which cannot be checked before Helm has rendered them: the apiVersion may
 * depend on the cluster, and the text is rarely valid YAML.
 */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { parseGroupVersion } from "../../../meta/group-version.ts";
import { isKubernetesGroup } from "./known-apis.ts";
import type { ReadDocument } from "./read-manifests.ts";

const ACTION = "{{";
/** Names that only Helm's templates have. Other programs use {{ }} in the values of their objects. */
const HELM = /\{\{[^}]{0,200}(?:\.Values\b|\.Release\.|\.Chart\.|\.Capabilities\.|\binclude ")/;
/** Kinds that may hold or describe a template of another program. */
const HOLDERS: ReadonlySet<string> = new Set(["ConfigMap", "CustomResourceDefinition", "Secret"]);

export function looksLikeTemplate(text: string, documents: readonly ReadDocument[], isChartTemplate: boolean): boolean {
  if (!text.includes(ACTION)) return false;
  if (isChartTemplate || documents.some(({ error }) => error !== undefined)) return true;
  const isHelm = HELM.test(text);
  return documents.some(
    ({ value }) => isJsonObject(value) && (hasActionInName(value) || (isHelm && hasHelmValue(value))),
  );
}

/** The type or the name is the result of an action; Kubernetes allows no braces in either. */
function hasActionInName(object: JsonObject): boolean {
  const metadata = objectAt(object, "metadata");
  const names = [object["apiVersion"], object["kind"], metadata["name"], metadata["namespace"]];
  return names.some((name) => typeof name === "string" && name.includes(ACTION));
}

/** A custom resource may configure Helm, so only the kinds of Kubernetes count. */
function hasHelmValue(object: JsonObject): boolean {
  if (HOLDERS.has(stringAt(object, "kind"))) return false;
  return isKubernetesGroup(parseGroupVersion(stringAt(object, "apiVersion")).group) && hasHelmText(object);
}

function hasHelmText(value: unknown): boolean {
  if (typeof value === "string") return HELM.test(value);
  if (Array.isArray(value)) return value.some(hasHelmText);
  return isJsonObject(value) && Object.values(value).some(hasHelmText);
}
