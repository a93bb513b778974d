import { expect, test } from "vitest";
import type { AccessAttributes, Authorizer } from "../../auth/authorize.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { Attributes } from "../admission.ts";
import { attributes, readerOf, rejectionOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { createParamAccess } from "./param-access.ts";
import { policy, testParamKinds } from "../../../../test/testing/access/admission/policies/policies.ts";

const GROUP = "admissionregistration.k8s.io";
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const UNKNOWN = { apiVersion: "rules.example.com/v1", kind: "Limit" };
const ALICE = {
  name: "alice",
  uid: "u1",
  groups: ["team", "system:authenticated"],
  extra: { b: ["2"], a: ["0", "1"] },
};
const SHOWN = "&{alice u1 [team system:authenticated] map[a:[0 1] b:[2]]}";
const POLICIES = [policy("limited", { paramKind: CONFIG_MAP }), policy("strange", { paramKind: UNKNOWN })];

async function write(
  resource: string,
  spec: JsonObject,
  given: Partial<Omit<Attributes, "object">> = {},
): Promise<{ asked: AccessAttributes[]; told: string | undefined }> {
  const asked: AccessAttributes[] = [];
  const authorizer: Authorizer = (_user, access) => {
    asked.push(access);
    return { allowed: false, reason: "" };
  };
  const plugin = createParamAccess({
    authorizer,
    paramKinds: testParamKinds,
    objects: readerOf({
      [`validatingadmissionpolicies.${GROUP}`]: POLICIES,
      [`mutatingadmissionpolicies.${GROUP}`]: POLICIES,
    }),
  });
  const about = attributes({
    object: { metadata: { name: "x" }, spec },
    resource,
    groupVersion: { group: GROUP, version: "v1" },
    kind: { group: GROUP, version: "v1", kind: "SomeKind" },
    namespace: "",
    user: ALICE,
    ...given,
  });
  return { told: await rejectionOf(() => plugin.validate?.(about)), asked };
}

const INVALID = `422 SomeKind.${GROUP} "x" is invalid: `;
const ASKED = { isResourceRequest: true, subresource: "", path: "" };
const ALL = { group: "*", version: "*", resource: "*" };
const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps" };

test.each([
  [CONFIG_MAP, CONFIG_MAPS, "(kind=ConfigMap, apiVersion=v1)"],
  [
    UNKNOWN,
    { group: "rules.example.com", version: "v1", resource: "*" },
    "(kind=Limit, apiVersion=rules.example.com/v1)",
  ],
])(
  "the author of a policy with the paramKind %s must be allowed to read all objects of this kind",
  async (paramKind, resource, shown) => {
    const { told, asked } = await write("validatingadmissionpolicies", { paramKind });
    expect(asked).toEqual([{ ...ASKED, ...resource, verb: "get", namespace: "*", name: "*" }]);
    expect(told).toBe(
      `${INVALID}spec.paramKind: Forbidden: user ${SHOWN} must have "get" permission on all objects of the referenced paramKind ${shown}`,
    );
  },
);

const FOR_ALL = `to determine minimum required permissions and user ${SHOWN} does not have "get" permission for all groups, versions and resources`;

interface Bound {
  readonly resource: string;
  readonly policyName: string;
  readonly paramRef: JsonObject;
  readonly wanted: object;
  readonly why: string;
}

test.each<Bound>([
  {
    resource: "validatingadmissionpolicybindings",
    policyName: "limited",
    paramRef: { name: "one", namespace: "ns" },
    wanted: { ...CONFIG_MAPS, verb: "get", namespace: "ns", name: "one" },
    why: `user ${SHOWN} does not have "get" permission on the object referenced by paramRef`,
  },
  {
    resource: "mutatingadmissionpolicybindings",
    policyName: "limited",
    paramRef: { selector: {} },
    wanted: { ...CONFIG_MAPS, verb: "list", namespace: "", name: "" },
    why: `user list does not have "${SHOWN}" permission on the object referenced by paramRef`,
  },
  {
    resource: "validatingadmissionpolicybindings",
    policyName: "gone",
    paramRef: { name: "one" },
    wanted: { ...ALL, verb: "get", namespace: "", name: "one" },
    why: `unable to get policy gone ${FOR_ALL}`,
  },
  {
    resource: "validatingadmissionpolicybindings",
    policyName: "strange",
    paramRef: { name: "one" },
    wanted: { ...ALL, group: "rules.example.com", version: "v1", verb: "get", namespace: "", name: "one" },
    why: `unable to resolve paramKind &{rules.example.com/v1 Limit} ${FOR_ALL}`,
  },
])(
  "the author of a binding ($resource) of the policy $policyName must be allowed to read the referenced parameters",
  async (bound) => {
    const { resource, policyName, paramRef, wanted, why } = bound;
    const { told, asked } = await write(resource, { policyName, paramRef });
    expect(asked).toEqual([{ ...ASKED, ...wanted }]);
    expect(told).toBe(`${INVALID}spec.paramRef: Forbidden: ${why}`);
  },
);

test("no permission is required without parameters, for an unchanged paramKind, and for system:masters", async () => {
  const paramKind = CONFIG_MAP;
  const masters = { ...ALICE, groups: ["system:masters"] };
  const outcomes = await Promise.all([
    write("validatingadmissionpolicies", {}),
    write("validatingadmissionpolicybindings", { policyName: "limited" }),
    write("validatingadmissionpolicies", { paramKind }, { operation: "UPDATE", existing: { spec: { paramKind } } }),
    write("validatingadmissionpolicies", { paramKind }, { user: masters }),
  ]);
  expect(outcomes).toEqual(outcomes.map(() => ({ asked: [], told: undefined })));
});
