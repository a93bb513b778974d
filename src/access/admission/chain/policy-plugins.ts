/** Creates the plugins for admission policies with the ports that they need. */
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import { celEnvironment } from "../../../objects/cel/environment.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { compileMutatingPolicy } from "../policies/compiled-mutations.ts";
import { compileValidatingPolicy } from "../policies/compiled-policy.ts";
import { createMutatingAdmissionPolicy } from "../policies/mutating-policy.ts";
import { createParamAccess } from "../policies/param-access.ts";
import { createPolicyTables } from "../policies/policy-table.ts";
import { createValidatingAdmissionPolicy } from "../policies/validating-policy.ts";
import type { AdmissionParts, Follow } from "./admission-parts.ts";
import type { Versions } from "./object-versions.ts";
import { createParamKinds } from "./param-kinds.ts";

export function createPolicyPlugins(
  parts: AdmissionParts,
  versions: Versions,
  follow: Follow,
): readonly AdmissionPlugin[] {
  const { config, authorization, objects, context, served } = parts;
  const environment = celEnvironment(gatesOf(config.release));
  const validating = createPolicyTables((policy) => compileValidatingPolicy(policy, environment));
  const mutating = createPolicyTables((policy) => compileMutatingPolicy(policy, environment));
  follow("validatingadmissionpolicies", validating.policies);
  follow("validatingadmissionpolicybindings", validating.bindings);
  follow("mutatingadmissionpolicies", mutating.policies);
  follow("mutatingadmissionpolicybindings", mutating.bindings);
  const paramKinds = createParamKinds({ context, ...served });
  const common = { objects, paramKinds, authorizer: authorization.authorization.authorize };
  return [
    createMutatingAdmissionPolicy({ ...common, ...versions, tables: mutating }),
    createValidatingAdmissionPolicy({ ...common, tables: validating }),
  ];
}

export function createParamAccessPlugin({ authorization, objects, context, served }: AdmissionParts): AdmissionPlugin {
  const { authorize: authorizer } = authorization.authorization;
  return createParamAccess({ authorizer, objects, paramKinds: createParamKinds({ context, ...served }) });
}
