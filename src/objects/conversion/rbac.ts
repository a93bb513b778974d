/** Converts role bindings: a subject has an apiVersion in v1alpha1 and an apiGroup in later versions. */
import { parseGroupVersion } from "../../meta/group-version.ts";
import { stringAt, type JsonObject } from "../../meta/json.ts";
import { omitMembers, updateItems } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

const GROUP = "rbac.authorization.k8s.io";
const V1ALPHA1 = `${GROUP}/v1alpha1`;
const ALL_AUTHENTICATED = "system:authenticated";

export const RBAC_SHAPES: readonly KindShapes[] = Object.freeze([
  { kinds: ["Role", "ClusterRole"], hub: [`${GROUP}/v1`, `${GROUP}/v1beta1`, V1ALPHA1], spokes: [] },
  {
    kinds: ["RoleBinding", "ClusterRoleBinding"],
    hub: [`${GROUP}/v1`, `${GROUP}/v1beta1`],
    spokes: [
      {
        versions: [V1ALPHA1],
        toHub: (binding) => updateItems(binding, "subjects", toGroupSubject),
        fromHub: (binding) => updateItems(binding, "subjects", toVersionSubject),
      },
    ],
  },
]);

/** Replaces the apiVersion that a subject has in v1alpha1 by the apiGroup that it has in later versions. */
function toGroupSubject(subject: JsonObject): JsonObject {
  const own = omitMembers(subject, ["apiVersion", "apiGroup"]);
  if (subject["kind"] === "User" && subject["name"] === "*") {
    return { ...own, kind: "Group", apiGroup: GROUP, name: ALL_AUTHENTICATED };
  }
  const apiGroup = groupOfSubject(subject);
  return apiGroup === "" ? own : { ...own, apiGroup };
}

function groupOfSubject(subject: JsonObject): string {
  switch (subject["kind"]) {
    case "ServiceAccount":
      return "";
    case "User":
    case "Group":
      return GROUP;
    default:
      return parseGroupVersion(stringAt(subject, "apiVersion")).group;
  }
}

function toVersionSubject(subject: JsonObject): JsonObject {
  const own = omitMembers(subject, ["apiVersion", "apiGroup"]);
  const apiVersion = versionOfSubject(stringAt(subject, "kind"), stringAt(subject, "apiGroup"));
  return apiVersion === "" ? own : { ...own, apiVersion };
}

function versionOfSubject(kind: string, apiGroup: string): string {
  if (kind === "ServiceAccount" && apiGroup === "") return "v1";
  if ((kind === "User" || kind === "Group") && apiGroup === GROUP) return V1ALPHA1;
  return apiGroup === "" ? "" : `${apiGroup}/`;
}
