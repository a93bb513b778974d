/** Prevents privilege escalation: rejects a role or binding that would grant more permissions than its author has. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Admission, AdmittedWrite } from "../../../serving/registry/admission.ts";
import { checkedResource, checkRoleWrite } from "../../auth/rbac/role-write.ts";
import type { WithUser } from "../../auth/user.ts";
import type { AdmissionParts } from "./admission-parts.ts";

/** Wraps the admission of a request so that the check runs on the mutated object, before validation. */
export function withGrantChecked(
  { authorization: { resolver, authorization }, objects }: AdmissionParts,
  { user, info }: WithUser,
  admission: Admission | undefined,
): Admission | undefined {
  const resource = info.subresource === "" ? checkedResource(info) : undefined;
  if (resource === undefined) return admission;
  const check = ({ object, existing }: AdmittedWrite & { readonly object: JsonObject }): Promise<void> =>
    checkRoleWrite({
      user,
      resolver,
      resource,
      object,
      existing,
      namespace: info.namespace,
      name: info.name,
      authorize: authorization.authorize,
      newest: (...asked) => objects.newest(...asked),
    });
  return {
    async mutate(write) {
      const object = admission === undefined ? write.object : await admission.mutate(write);
      await check({ ...write, object });
      return object;
    },
    validate: (write) => admission?.validate(write) ?? Promise.resolve(),
  };
}
