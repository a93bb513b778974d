/** Determines the policies that apply to a write, with their bindings and parameters. */
import type { JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import { notFound, StatusError } from "../../../meta/status-error.ts";
import type { Attributes, ServedVersion } from "../admission.ts";
import { matchCriteria } from "../matching/criteria.ts";
import { readNamespace } from "../matching/selectors.ts";
import { collectParams, ParamError, type ParamKinds, type ParamObjects, paramKindText } from "./params.ts";
import type { PolicyBinding, BoundPolicy, AdmissionPolicy } from "./policy-table.ts";

export interface InvocationPorts {
  /** Reads namespaces. */
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  readonly paramKinds: ParamKinds;
}

export interface Invocation<Compiled> {
  readonly policy: AdmissionPolicy<Compiled>;
  readonly binding: PolicyBinding;
  /** The API version to which the object is converted for the policy. */
  readonly version: ServedVersion;
  /**
   * The policy is evaluated once for each parameter object. An undefined element means an evaluation without a
   * parameter.
   */
  readonly params: readonly (JsonObject | undefined)[];
}

/** Called if the policy is invalid or, if `binding` is given, the binding. */
type OnConfigurationError = (policy: AdmissionPolicy<unknown>, binding: PolicyBinding | undefined, why: string) => void;

/** Returns the message of an error in a policy or binding. Throws all other errors again. */
export function configurationFailure(thrown: unknown): string {
  if (thrown instanceof StatusError || thrown instanceof ParamError) return thrown.message;
  throw thrown;
}

/** The invocations of one policy, one for each matching binding; empty if the policy does not apply to the write. */
export async function invocationsOf<Compiled>(
  { policy, bindings }: BoundPolicy<Compiled>,
  attributes: Attributes,
  ports: InvocationPorts,
  onError: OnConfigurationError,
): Promise<Invocation<Compiled>[]> {
  const version = await matchedVersion(policy, attributes, ports, onError);
  if (version === undefined) return [];
  const { paramKind } = policy;
  const objects = paramKind === undefined ? undefined : ports.paramKinds(paramKind);
  if (paramKind !== undefined && objects === undefined) {
    const why = `failed to find resource referenced by paramKind: '${paramKindText(paramKind)}'`;
    onError(policy, undefined, why);
    return [];
  }
  const invocations: Invocation<Compiled>[] = [];
  for (const binding of bindings) {
    try {
      const params = await paramsOf(binding, attributes, { ...ports, params: objects });
      if (params !== undefined) invocations.push({ policy, binding, version, params });
    } catch (thrown) {
      onError(policy, binding, configurationFailure(thrown));
    }
  }
  return invocations;
}

async function matchedVersion(
  policy: AdmissionPolicy<unknown>,
  attributes: Attributes,
  { objects }: InvocationPorts,
  onError: OnConfigurationError,
): Promise<ServedVersion | undefined> {
  const { criteria } = policy;
  if (criteria === undefined) {
    onError(policy, undefined, "policy contained no match constraints, a required field");
    return undefined;
  }
  try {
    return await matchCriteria(criteria, attributes, objects);
  } catch (thrown) {
    onError(policy, undefined, configurationFailure(thrown));
    return undefined;
  }
}

/** The parameters of the binding; undefined if the binding does not match the write. */
async function paramsOf(
  { criteria, object }: PolicyBinding,
  attributes: Attributes,
  { objects, params }: Pick<InvocationPorts, "objects"> & { readonly params: ParamObjects | undefined },
): Promise<readonly (JsonObject | undefined)[] | undefined> {
  const isMatch = criteria === undefined || (await matchCriteria(criteria, attributes, objects)) !== undefined;
  return isMatch ? collectParams(params, object, attributes.namespace) : undefined;
}

/**
 * The namespace of the written object; undefined for cluster-scoped objects. Throws a StatusError if the namespace does
 * not exist.
 */
export async function namespaceObjectOf(
  { namespace, kind }: Attributes,
  { objects }: InvocationPorts,
): Promise<JsonObject | undefined> {
  const isNamespace = kind.group === "" && kind.version === "v1" && kind.kind === "Namespace";
  if (namespace === "" || isNamespace) return undefined;
  const found = await readNamespace(objects, namespace);
  if (found === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
  return found;
}
