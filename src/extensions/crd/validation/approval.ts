/**
 * Validates the approval annotation of a CRD. A CRD in a protected group of the Kubernetes community must name the
 * review of its API, or state that it is unapproved.
 */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { isRequestUri } from "../structural-schema/validate/request-uri.ts";

const ANNOTATION = "api-approved.kubernetes.io";
const SEE = "see https://github.com/kubernetes/enhancements/pull/1111";

type Approval = "missing" | "bypassed" | "approved" | "invalid";

export function* approvalErrors(crd: JsonObject, existing?: JsonObject): Generator<FieldError> {
  if (!isProtectedGroup(stringAt(objectAt(crd, "spec"), "group"))) return;
  const approval = approvalOf(crd);
  if (existing !== undefined && approvalOf(existing) === approval) return;
  const field = `metadata.annotations[${ANNOTATION}]`;
  const demand = `protected groups must have approval annotation "${ANNOTATION}"`;
  if (approval === "missing") yield required(field, `${demand}, ${SEE}`);
  if (approval === "invalid")
    yield invalidValue(
      field,
      annotationOf(crd),
      `${demand} with either a URL or a reason starting with "unapproved", ${SEE}`,
    );
}

function isProtectedGroup(group: string): boolean {
  return ["k8s.io", "kubernetes.io"].some((domain) => group === domain || group.endsWith(`.${domain}`));
}

function annotationOf(definition: JsonObject): string {
  return stringAt(objectAt(objectAt(definition, "metadata"), "annotations"), ANNOTATION);
}

const SCHEME_AND_HOST = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?]/;

function approvalOf(definition: JsonObject): Approval {
  const annotation = annotationOf(definition);
  if (annotation === "") return "missing";
  if (annotation.startsWith("unapproved")) return "bypassed";
  return SCHEME_AND_HOST.test(annotation) && isRequestUri(annotation) ? "approved" : "invalid";
}
