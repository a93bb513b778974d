/** Parses and validates an audit policy file. Each error is one sentence for the operator. */
import { aggregateText } from "../../meta/aggregate-text.ts";
import { invalidValue, required, unsupportedValue } from "../../meta/field-errors.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { dnsSubdomainErrors } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";
import {
  LEVELS,
  STAGES,
  type GroupResources,
  type AuditLevel,
  type AuditPolicy,
  type AuditRule,
  type AuditStage,
} from "./policy.ts";

/** The policy is invalid. The message is one sentence for the operator. */
export class AuditPolicyError extends Error {
  override readonly name = "AuditPolicyError";
}

/** Maximum number of rules, because every request may have to be compared with every rule. */
const RULES_MAX = 10_000;
/** Maximum number of list entries in the policy. A list that YAML aliases repeat counts each time. */
const ENTRIES_MAX = 1_000_000;
const ERRORS_MAX = 100;

const API_VERSION = "audit.k8s.io/v1";

/** `warnings` lists unknown fields of the policy. */
export function parsePolicy(value: unknown): { readonly policy: AuditPolicy; readonly warnings: readonly string[] } {
  if (!isJsonObject(value)) throw new AuditPolicyError("the audit policy is not an object");
  const { apiVersion, kind = "Policy" } = value;
  if (apiVersion === undefined || apiVersion === "")
    throw new AuditPolicyError("unknown group version field audit.k8s.io/__internal, Kind=Policy in policy");
  if (apiVersion !== API_VERSION || kind !== "Policy")
    throw new AuditPolicyError(
      `failed decoding: no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  const reader = new Reader();
  const policy: AuditPolicy = {
    rules: reader.objects(value, "rules", "rules").map((rule, index) => ruleOf(reader, rule, `rules[${index}]`)),
    omitStages: reader.strings(value, "omitStages", "omitStages") as AuditStage[],
    omitManagedFields: reader.boolean(value, "omitManagedFields", "omitManagedFields") ?? false,
  };
  reader.known(value, ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"], "");
  check(policy);
  return { policy, warnings: reader.warnings };
}

const RULE_FIELDS: readonly string[] = [
  ...["level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs"],
  ...["omitStages", "omitManagedFields"],
];

function ruleOf(reader: Reader, rule: JsonObject, path: string): AuditRule {
  const strings = (name: string): string[] => reader.strings(rule, name, `${path}.${name}`);
  reader.known(rule, RULE_FIELDS, `${path}.`);
  return {
    level: reader.string(rule, "level", `${path}.level`) as AuditLevel,
    users: strings("users"),
    userGroups: strings("userGroups"),
    verbs: strings("verbs"),
    resources: reader.objects(rule, "resources", `${path}.resources`).map((one, index): GroupResources => {
      const at = `${path}.resources[${index}]`;
      reader.known(one, ["group", "resources", "resourceNames"], `${at}.`);
      return {
        group: reader.string(one, "group", `${at}.group`),
        resources: reader.strings(one, "resources", `${at}.resources`),
        resourceNames: reader.strings(one, "resourceNames", `${at}.resourceNames`),
      };
    }),
    namespaces: strings("namespaces"),
    nonResourceURLs: strings("nonResourceURLs"),
    omitStages: strings("omitStages") as AuditStage[],
    omitManagedFields: reader.boolean(rule, "omitManagedFields", `${path}.omitManagedFields`),
  };
}

/** Reads the fields of the policy, and throws if a field has the wrong type. A null counts as absent. */
class Reader {
  readonly warnings: string[] = [];
  #entries = 0;

  string(parent: JsonObject, name: string, path: string): string {
    const value = parent[name] ?? "";
    if (typeof value !== "string") throw new AuditPolicyError(`${path} must be a string`);
    return value;
  }

  boolean(parent: JsonObject, name: string, path: string): boolean | undefined {
    const value = parent[name] ?? undefined;
    if (value !== undefined && typeof value !== "boolean") throw new AuditPolicyError(`${path} must be true or false`);
    return value;
  }

  strings(parent: JsonObject, name: string, path: string): string[] {
    const value = this.#list(parent, name, path);
    if (!value.every((item) => typeof item === "string"))
      throw new AuditPolicyError(`${path} must be a list of strings`);
    return value;
  }

  objects(parent: JsonObject, name: string, path: string): JsonObject[] {
    const value = this.#list(parent, name, path);
    if (!value.every(isJsonObject)) throw new AuditPolicyError(`${path} must be a list of objects`);
    return value;
  }

  known(parent: JsonObject, names: readonly string[], prefix: string): void {
    for (const name of Object.keys(parent)) {
      if (names.includes(name) || this.warnings.length >= ERRORS_MAX) continue;
      this.warnings.push(`unknown field ${JSON.stringify(prefix + name)}`);
    }
  }

  #list(parent: JsonObject, name: string, path: string): unknown[] {
    const value = parent[name] ?? [];
    if (!Array.isArray(value)) throw new AuditPolicyError(`${path} must be a list`);
    this.#entries += value.length;
    if (this.#entries > ENTRIES_MAX)
      throw new AuditPolicyError(`the audit policy has more than ${ENTRIES_MAX} entries`);
    return value;
  }
}

function check(policy: AuditPolicy): void {
  const errors: FieldError[] = [];
  for (const error of policyErrors(policy)) {
    errors.push(error);
    if (errors.length === ERRORS_MAX) break;
  }
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  if (texts.length > 0) throw new AuditPolicyError(aggregateText(texts));
  if (policy.rules.length === 0) throw new AuditPolicyError("loaded illegal policy with 0 rules");
  if (policy.rules.length > RULES_MAX) throw new AuditPolicyError(`the audit policy has more than ${RULES_MAX} rules`);
}

function* policyErrors(policy: AuditPolicy): Generator<FieldError, void, undefined> {
  yield* stageErrors(policy.omitStages, "omitStages");
  for (const [index, rule] of policy.rules.entries()) yield* ruleErrors(rule, `rules[${index}]`);
}

function* ruleErrors(rule: AuditRule, path: string): Generator<FieldError, void, undefined> {
  const level: string = rule.level;
  if (level === "") yield required(`${path}.level`);
  else if (!(LEVELS as readonly string[]).includes(level)) yield unsupportedValue(`${path}.level`, level, LEVELS);
  yield* urlErrors(rule.nonResourceURLs, `${path}.nonResourceURLs`);
  yield* resourceErrors(rule.resources, `${path}.resources`);
  yield* stageErrors(rule.omitStages, `${path}.omitStages`);
  if (rule.nonResourceURLs.length > 0 && (rule.resources.length > 0 || rule.namespaces.length > 0)) {
    const why = "rules cannot apply to both regular resources and non-resource URLs";
    yield invalidValue(`${path}.nonResourceURLs`, rule.nonResourceURLs, why);
  }
}

function* urlErrors(urls: readonly string[], path: string): Generator<FieldError, void, undefined> {
  for (const [index, url] of urls.entries()) {
    if (url === "*") continue;
    const at = `${path}[${index}]`;
    if (!url.startsWith("/")) yield invalidValue(at, url, "non-resource URL rules must begin with a '/' character");
    if (url.slice(0, -1).includes("*"))
      yield invalidValue(at, url, "non-resource URL wildcards '*' must be the final character of the rule");
  }
}

/** As kubernetes: the field paths of the errors do not contain the index of the entry. */
function* resourceErrors(entries: readonly GroupResources[], path: string): Generator<FieldError, void, undefined> {
  for (const { group, resources, resourceNames } of entries) {
    const problems = group === "" || group === "*" ? [] : dnsSubdomainErrors(group);
    if (problems.length > 0) yield invalidValue(`${path}.group`, group, problems.join(","));
    if (resourceNames.length > 0 && resources.length === 0)
      yield invalidValue(`${path}.resourceNames`, resourceNames, "using resourceNames requires at least one resource");
  }
}

function* stageErrors(stages: readonly string[], path: string): Generator<FieldError, void, undefined> {
  for (const [index, stage] of stages.entries()) {
    if ((STAGES as readonly string[]).includes(stage)) continue;
    yield invalidValue(`${path}[${index}]`, stage, `allowed stages are ${STAGES.join(",")}`);
  }
}
