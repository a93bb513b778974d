/** Reads the parameter objects of a policy binding. */
import { type GroupVersion, parseGroupVersion } from "../../../meta/group-version.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { matchesLabels, readSelector } from "../matching/selectors.ts";

export type ParamKind = GroupVersion & { readonly kind: string };

/**
 * Reads the objects of a parameter kind, in the version of the paramKind and with apiVersion and kind. The namespace of
 * cluster-scoped objects is "".
 */
export interface ParamObjects {
  /** The resource name, such as configmaps. */
  readonly resource: string;
  readonly isNamespaced: boolean;
  get(namespace: string, name: string): Promise<JsonObject | undefined>;
  list(namespace: string): Promise<readonly JsonObject[]>;
}

/** Looks up a built-in or custom kind; undefined if the kind is not served. */
export type ParamKinds = (kind: ParamKind) => ParamObjects | undefined;

/** Undefined if the policy has no paramKind. */
export function paramKindOf(policy: JsonObject): ParamKind | undefined {
  const paramKind = objectAt(policy, "spec")["paramKind"];
  if (!isJsonObject(paramKind)) return undefined;
  return { ...parseGroupVersion(stringAt(paramKind, "apiVersion")), kind: stringAt(paramKind, "kind") };
}

export function paramKindText({ group, version, kind }: ParamKind): string {
  return `${group}/${version}, Kind=${kind}`;
}

/** The error of a binding whose paramRef is invalid or finds no parameters although it must. */
export class ParamError extends Error {
  override readonly name = "ParamError";
}

/**
 * Returns the parameter objects of a binding. The result is [undefined] if the policy is to be evaluated without
 * parameters, and [] if it is not to be evaluated. `requestNamespace` is "" for cluster-scoped objects. Throws a
 * ParamError.
 */
export async function collectParams(
  objects: ParamObjects | undefined,
  binding: JsonObject,
  requestNamespace: string,
): Promise<readonly (JsonObject | undefined)[]> {
  const reference = objectAt(binding, "spec")["paramRef"];
  if (objects === undefined || !isJsonObject(reference)) return [undefined];
  const namespace = paramNamespace(objects, stringAt(reference, "namespace"), requestNamespace);
  const params = await referencedParams(objects, reference, namespace);
  if (params.length === 0 && stringAt(reference, "parameterNotFoundAction") === "Deny")
    throw new ParamError("no params found for policy binding with `Deny` parameterNotFoundAction");
  return params;
}

function paramNamespace({ isNamespaced }: ParamObjects, named: string, requestNamespace: string): string {
  if (isNamespaced) {
    const namespace = named === "" ? requestNamespace : named;
    if (namespace !== "") return namespace;
    throw new ParamError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
  }
  if (named === "") return "";
  throw new ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
}

async function referencedParams(
  objects: ParamObjects,
  reference: JsonObject,
  namespace: string,
): Promise<readonly JsonObject[]> {
  const name = stringAt(reference, "name");
  const hasSelector = isJsonObject(reference["selector"]);
  if (name !== "") {
    if (hasSelector) throw new ParamError("paramRef.name and paramRef.selector are mutually exclusive");
    const param = await objects.get(namespace, name);
    return param === undefined ? [] : [param];
  }
  if (!hasSelector) throw new ParamError("one of name or selector must be provided");
  const selector = readSelector(reference, "selector");
  if (selector.kind === "unreadable") throw new ParamError(selector.why);
  const all = await objects.list(namespace);
  return all.filter((param) => matchesLabels(selector, objectAt(objectAt(param, "metadata"), "labels")));
}
