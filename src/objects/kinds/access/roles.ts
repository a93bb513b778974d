/** Defaults and validation of Roles, ClusterRoles and their bindings. */
import { invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors, pathSegmentErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors, nameErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { ownStruct, setEmpty, setMissing } from "../defaults.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const GROUP = "rbac.authorization.k8s.io";
const VALUE_FIELD = /\.values\[\d+\]$/;

export const ROLE: Kind = {
  setDefaults: setNoRules,
  createErrors: (role) => rulesErrors(role, true),
  updateErrors: (role) => rulesErrors(role, true),
};

export const CLUSTER_ROLE: Kind = {
  setDefaults: setNoRules,
  *createErrors(role) {
    yield* rulesErrors(role, false);
    yield* aggregationErrors(role, false);
  },
  *updateErrors(role, existing) {
    yield* rulesErrors(role, false);
    yield* aggregationErrors(role, hasInvalidSelector(existing));
  },
};

export const ROLE_BINDING: Kind = bindingOf(["Role", "ClusterRole"]);
export const CLUSTER_ROLE_BINDING: Kind = bindingOf(["ClusterRole"]);

/** Sets absent rules to null, because Go always writes `rules`. */
function setNoRules(role: JsonObject): void {
  setMissing(role, { rules: null });
  const rules = role["rules"];
  // `verbs` is the only list of a rule that Go always writes.
  if (Array.isArray(rules))
    role["rules"] = rules.map((rule: unknown) => (isJsonObject(rule) ? { verbs: null, ...rule } : rule));
}

function* rulesErrors(role: JsonObject, isNamespaced: boolean): Generator<FieldError> {
  for (const [index, rule] of objectsAt(role, "rules").entries())
    yield* ruleErrors(rule, `rules[${index}]`, isNamespaced);
}

function* ruleErrors(rule: JsonObject, field: string, isNamespaced: boolean): Generator<FieldError> {
  const isEmpty = (key: string): boolean => stringsAt(rule, key).length === 0;
  if (isEmpty("verbs")) yield required(`${field}.verbs`, "verbs must contain at least one value");
  const urls = stringsAt(rule, "nonResourceURLs");
  if (urls.length > 0) {
    const at = `${field}.nonResourceURLs`;
    if (isNamespaced) yield invalidValue(at, urls, "namespaced rules cannot apply to non-resource URLs");
    if (["apiGroups", "resources", "resourceNames"].some((key) => !isEmpty(key)))
      yield invalidValue(at, urls, "rules cannot apply to both regular resources and non-resource URLs");
    return;
  }
  if (isEmpty("apiGroups")) yield required(`${field}.apiGroups`, "resource rules must supply at least one api group");
  if (isEmpty("resources")) yield required(`${field}.resources`, "resource rules must supply at least one resource");
}

function* aggregationErrors(role: JsonObject, allowsInvalidValues: boolean): Generator<FieldError> {
  if (role["aggregationRule"] === undefined) return;
  const field = "aggregationRule.clusterRoleSelectors";
  const selectors = objectsAt(objectAt(role, "aggregationRule"), "clusterRoleSelectors");
  if (selectors.length === 0)
    yield required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil");
  for (const [index, selector] of selectors.entries()) {
    const at = `${field}[${index}]`;
    let isValid = true;
    for (const error of labelSelectorErrors(selector, at)) {
      isValid = false;
      if (!allowsInvalidValues || !VALUE_FIELD.test(error.field)) yield error;
    }
    // As kubernetes: the message shows the parsed selector, which is null.
    if (!isValid) yield invalidValue(at, null, "invalid label selector.");
  }
}

function hasInvalidSelector(role: JsonObject): boolean {
  const selectors = objectsAt(objectAt(role, "aggregationRule"), "clusterRoleSelectors");
  return selectors.some((selector) => labelSelectorErrors(selector, "").next().done !== true);
}

function bindingOf(roleKinds: readonly string[]): Kind {
  return {
    setDefaults: setBindingDefaults,
    createErrors: (binding) => bindingErrors(binding, roleKinds),
    *updateErrors(binding, existing) {
      yield* bindingErrors(binding, roleKinds);
      const [role, before] = [objectAt(binding, "roleRef"), objectAt(existing, "roleRef")];
      if (["apiGroup", "kind", "name"].some((key) => stringAt(role, key) !== stringAt(before, key)))
        yield invalidValue("roleRef", internalValue(role, "RoleRef"), "cannot change roleRef");
    },
  };
}

function setBindingDefaults(binding: JsonObject): void {
  const role = ownStruct(binding, "roleRef");
  setMissing(role, { kind: "", name: "" });
  setEmpty(role, { apiGroup: GROUP });
  if (!Array.isArray(binding["subjects"])) return;
  binding["subjects"] = objectsAt(binding, "subjects").map((subject) => {
    const kind = stringAt(subject, "kind");
    const isNamed = kind === "User" || kind === "Group";
    if (!isNamed || stringAt(subject, "apiGroup") !== "") return subject;
    return { ...subject, apiGroup: GROUP };
  });
}

function* bindingErrors(binding: JsonObject, roleKinds: readonly string[]): Generator<FieldError> {
  const role = objectAt(binding, "roleRef");
  yield* groupErrors(stringAt(role, "apiGroup"), "roleRef.apiGroup", GROUP);
  const kind = stringAt(role, "kind");
  if (!roleKinds.includes(kind)) yield unsupportedValue("roleRef.kind", kind, roleKinds);
  const name = stringAt(role, "name");
  if (name === "") yield required("roleRef.name");
  else yield* nameErrors(name, "roleRef.name", pathSegmentErrors);
  const isNamespaced = roleKinds.includes("Role");
  for (const [index, subject] of objectsAt(binding, "subjects").entries())
    yield* subjectErrors(subject, `subjects[${index}]`, isNamespaced);
}

function* groupErrors(group: string, field: string, expected: string): Generator<FieldError> {
  if (group !== expected) yield unsupportedValue(field, group, [expected]);
}

function* subjectErrors(subject: JsonObject, field: string, isNamespaced: boolean): Generator<FieldError> {
  const name = stringAt(subject, "name");
  if (name === "") yield required(`${field}.name`);
  const group = stringAt(subject, "apiGroup");
  switch (stringAt(subject, "kind")) {
    case "ServiceAccount":
      if (name !== "") yield* nameErrors(name, `${field}.name`, dnsSubdomainErrors);
      yield* groupErrors(group, `${field}.apiGroup`, "");
      if (!isNamespaced && stringAt(subject, "namespace") === "") yield required(`${field}.namespace`);
      return;
    case "User":
    case "Group":
      yield* groupErrors(group, `${field}.apiGroup`, GROUP);
      return;
    default:
      yield unsupportedValue(`${field}.kind`, stringAt(subject, "kind"), ["ServiceAccount", "User", "Group"]);
  }
}
