/** Combines the errors of all MutatingAdmissionPolicies into one Status. */
import { StatusError, type Reason } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";
import { admissionForbidden } from "../plugins/plugin-errors.ts";
import type { PolicyBinding, AdmissionPolicy } from "./policy-table.ts";

export interface PolicyFailure {
  readonly policy: AdmissionPolicy<unknown>;
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
  readonly reason: Extract<Reason, "Forbidden" | "Invalid">;
}

/** As kubernetes: the code is 403 even if the reason is Invalid. */
class PolicyDenied extends StatusError {
  override get code(): number {
    return 403;
  }
}

function sentence({ policy, binding, message }: PolicyFailure): string {
  if (binding === undefined) return `policy ${JSON.stringify(policy.name)} denied request: ${message}`;
  return `policy '${policy.name}' with binding '${binding.name}' denied request: ${message}`;
}

/** Undefined if there are no errors. */
export function policyDenial(attributes: Attributes, errors: readonly PolicyFailure[]): StatusError | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  const causes = errors.map((error) => ({ message: sentence(error) }));
  const details = { ...admissionForbidden(attributes, "").details, causes };
  return new PolicyDenied(first.reason, sentence(first), { details });
}
