/** Parses and validates the query parameters of the verbs, with Kubernetes' messages. */
import type { SelectionRequest } from "../registry/selection.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import { headerValue } from "../http/message.ts";
import type { Query } from "../http/query.ts";
import { firstErrors } from "../../meta/field-errors.ts";
import type { JsonObject } from "../../meta/json.ts";
import { fieldManagerErrors } from "../../meta/field-manager.ts";
import { parseFieldSelector, type FieldRequirement } from "../../meta/field-selector.ts";
import { parseLabelSelector, SelectorError } from "../../meta/label-selector.ts";
import { parseIntError, parseUintError } from "../../meta/resource-version.ts";
import { badRequest, invalid, StatusError, type FieldError } from "../../meta/status-error.ts";
import { managerName } from "../../objects/managed-fields/manager.ts";
import type { ServedResource } from "../registry/resource.ts";
import { SELECTOR_CHARACTERS_MAX } from "./endpoint-limits.ts";

type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions" | "DeleteOptions" | "ListOptions";
export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface WriteParameters {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /**
   * The field manager of the write: the parameter `fieldManager` or, if it is absent, the first part of the user agent.
   */
  readonly manager: string;
}

/** The options as admission receives them: with kind and apiVersion, without unset fields. */
export function optionsObject({ query }: WithInfo, kind: OptionsKind): JsonObject {
  const said = (name: string): JsonObject => {
    const value = query.get(name);
    return value === undefined || value === "" ? {} : { [name]: value };
  };
  return {
    kind,
    apiVersion: "meta.k8s.io/v1",
    ...(query.has("dryRun") ? { dryRun: query.all("dryRun") } : {}),
    ...said("fieldManager"),
    ...said("fieldValidation"),
  };
}

/**
 * Parses and validates the options of a write. `requestErrors`, the errors that only the caller can find, are reported
 * first.
 */
export function writeOptions(
  { query, headers }: WithInfo,
  kind: OptionsKind,
  requestErrors: readonly FieldError[] = [],
): WriteParameters {
  const errors = [
    ...requestErrors,
    ...firstErrors(fieldManagerErrors(query.get("fieldManager") ?? "", "fieldManager")),
    ...dryRunErrors(query.all("dryRun")),
    ...fieldValidationErrors(query),
  ];
  if (errors.length > 0) throw invalidOptions(kind, errors);
  const validation = query.get("fieldValidation");
  return {
    dryRun: query.all("dryRun").includes("All"),
    fieldValidation: validation === undefined || validation === "" ? "Warn" : (validation as FieldValidation),
    manager: managerName(query.get("fieldManager"), headerValue(headers, "user-agent")),
  };
}

export function dryRunErrors(values: readonly string[]): FieldError[] {
  if (values.every((value) => value === "All")) return [];
  return [
    {
      field: "dryRun",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(values)}: supported values: "All"`,
    },
  ];
}

function fieldValidationErrors(query: Query): FieldError[] {
  const value = query.get("fieldValidation") ?? "";
  if (["", "Ignore", "Strict", "Warn"].includes(value)) return [];
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: "", "Ignore", "Strict", "Warn"`;
  return [{ field: "fieldValidation", reason: "FieldValueNotSupported", message }];
}

export function invalidOptions(kind: OptionsKind, errors: readonly FieldError[]): StatusError {
  return invalid({ group: "meta.k8s.io", kind }, "", errors);
}

export function selectorOptions(query: Query, served: ServedResource): Omit<SelectionRequest, "namespace"> {
  const labelText = query.get("labelSelector") ?? "";
  const fieldText = query.get("fieldSelector") ?? "";
  if (labelText.length > SELECTOR_CHARACTERS_MAX || fieldText.length > SELECTOR_CHARACTERS_MAX) {
    throw badRequest(`a selector may not be longer than ${SELECTOR_CHARACTERS_MAX} characters`);
  }
  try {
    const labels = labelText === "" ? undefined : parseLabelSelector(labelText);
    const fields =
      fieldText === "" ? [] : parseFieldSelector(fieldText).map((requirement) => knownField(requirement, served));
    return { labels, fields };
  } catch (thrown) {
    if (thrown instanceof SelectorError) throw badRequest(thrown.message);
    throw thrown;
  }
}

function knownField(requirement: FieldRequirement, served: ServedResource): FieldRequirement {
  const { field } = requirement;
  const alias = Object.hasOwn(served.fieldSelectorAliases, field) ? served.fieldSelectorAliases[field] : undefined;
  if (alias !== undefined) return { ...requirement, field: alias };
  if (served.fieldSelectors.includes(field)) return requirement;
  switch (served.fieldSelectorErrorStyle) {
    case "default":
      throw new SelectorError(
        `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    case "kind-label":
      throw new SelectorError(
        `field label not supported for ${served.groupVersion.group}/${served.groupVersion.version}, Kind=${served.kind}: ${field}`,
      );
    case "quoted-label":
      throw new SelectorError(`field label ${JSON.stringify(field)} not supported for ${served.kind}`);
    case "label":
      throw new SelectorError(`field label not supported: ${field}`);
  }
}

export interface ListParameters {
  readonly limit: number;
  readonly continueToken: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

export function listOptions(query: Query): ListParameters {
  const sendInitialEvents = query.get("sendInitialEvents");
  const timeout = query.get("timeoutSeconds");
  return {
    limit: integerParameter(query.get("limit")) ?? 0,
    continueToken: query.get("continue") ?? "",
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    timeoutSeconds: timeout === undefined ? undefined : integerParameter(timeout),
    allowWatchBookmarks: boolean(query.get("allowWatchBookmarks")) ?? false,
    sendInitialEvents: sendInitialEvents === undefined ? undefined : boolean(sendInitialEvents),
  };
}

/** Returns undefined if the parameter is absent. Any other text, including an empty one, must be a number. */
export function integerParameter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const malformed = parseIntError(text);
  if (malformed !== undefined) throw badRequest(malformed);
  return Number(text);
}

/** As kubernetes parses booleans in a query: only "false" and "0" are false. */
function boolean(text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : text.toLowerCase() !== "false" && text !== "0";
}

const MATCHES: readonly string[] = ["Exact", "NotOlderThan", ""];

/** Returns the errors of invalid combinations of list or watch options. */
export function listOptionErrors(options: ListParameters, verb: "list" | "watch"): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersionMatch: match, resourceVersion, continueToken, sendInitialEvents } = options;
  const forbid = (field: string, why: string): void =>
    void errors.push({ field, reason: "FieldValueForbidden", message: `Forbidden: ${why}` });
  if (verb === "watch") {
    if (sendInitialEvents !== undefined) {
      if (match === "")
        forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
      else if (match !== "NotOlderThan") errors.push(unsupportedMatch(match, ["NotOlderThan"]));
    } else if (match !== "")
      forbid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      );
    return errors;
  }
  if (match !== "") {
    if (resourceVersion === "")
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (continueToken !== "")
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    if (!MATCHES.includes(match)) errors.push(unsupportedMatch(match, MATCHES));
    if (match === "Exact" && resourceVersion === "0")
      forbid("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (sendInitialEvents !== undefined) forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  return errors;
}

function unsupportedMatch(match: string, supported: readonly string[]): FieldError {
  const list = supported.map((value) => JSON.stringify(value)).join(", ");
  return {
    field: "resourceVersionMatch",
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${JSON.stringify(match)}: supported values: ${list}`,
  };
}

/** Parses resourceVersion, the revision that a read or watch requests; undefined for "". */
export function revisionOf(text: string, malformedReason: "BadRequest" | ""): number | undefined {
  if (text === "") return undefined;
  const malformed = parseUintError(text);
  if (malformed === undefined) return Number(text);
  const why = `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${malformed}`;
  throw new StatusError(malformedReason, malformedReason === "" ? why : `invalid resource version: ${why}`);
}
