/** Declares the variables of the expressions in policies and webhooks, and their types. */
import type { Variables } from "../../../cel/program.ts";
import { BOOL, DYN, INT, listOf, mapOf, STRING, struct, TIMESTAMP, type Type } from "../../../cel/types/type.ts";
import { typeFromText } from "../../../cel/types/type-text.ts";

function objectType(name: string, fields: Readonly<Record<string, Type>>): Type {
  return struct(`kubernetes.${name}`, new Map(Object.entries(fields)));
}

function strings(names: string): Record<string, Type> {
  return Object.fromEntries(names.split(" ").map((name) => [name, STRING]));
}

const GROUP_VERSION_KIND = objectType("GroupVersionKind", strings("group version kind"));
const GROUP_VERSION_RESOURCE = objectType("GroupVersionResource", strings("group version resource"));

const USER_INFO = objectType("UserInfo", {
  ...strings("username uid"),
  groups: listOf(STRING),
  extra: mapOf(STRING, listOf(STRING)),
});

const REQUEST = objectType("AdmissionRequest", {
  ...strings("subResource requestSubResource name namespace operation"),
  kind: GROUP_VERSION_KIND,
  resource: GROUP_VERSION_RESOURCE,
  requestKind: GROUP_VERSION_KIND,
  requestResource: GROUP_VERSION_RESOURCE,
  userInfo: USER_INFO,
  dryRun: BOOL,
  options: DYN,
});

const NAMESPACE = objectType("Namespace", {
  metadata: objectType("NamespaceMetadata", {
    // As kubernetes spells it, although objects have a `uid`.
    ...strings("name generateName namespace UID resourceVersion"),
    labels: mapOf(STRING, STRING),
    annotations: mapOf(STRING, STRING),
    creationTimestamp: TIMESTAMP,
    deletionTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    generation: INT,
    finalizers: listOf(STRING),
  }),
  spec: objectType("NamespaceSpec", { finalizers: listOf(STRING) }),
  status: objectType("NamespaceStatus", {
    phase: STRING,
    conditions: listOf(
      objectType("NamespaceCondition", {
        ...strings("status type message reason"),
        lastTransitionTime: TIMESTAMP,
      }),
    ),
  }),
});

/** The variables that only some expressions can use. */
export interface OptionalVariables {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /**
   * The named variables of the policy, which are fields of `variables`; undefined if the expression cannot use them.
   */
  readonly composited: ReadonlyMap<string, Type> | undefined;
}

export function admissionVariables({ hasParams, hasAuthorizer, composited }: OptionalVariables): Variables {
  const types = new Map<string, Type>([
    ["object", DYN],
    ["oldObject", DYN],
    ["namespaceObject", NAMESPACE],
    ["request", REQUEST],
  ]);
  if (hasParams) types.set("params", DYN);
  if (hasAuthorizer) {
    types.set("authorizer", typeFromText("Authorizer"));
    types.set("authorizer.requestResource", typeFromText("ResourceCheck"));
  }
  if (composited !== undefined) types.set("variables", struct("kubernetes.variables", composited));
  return types;
}
