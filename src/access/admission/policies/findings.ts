/**
 * Collects the results of all ValidatingAdmissionPolicies for one write, and turns them into a denial, warnings and
 * audit annotations.
 */
import { StatusError } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";
import { admissionForbidden } from "../plugins/plugin-errors.ts";
import type { DenyReason } from "./compiled-policy.ts";
import type { PolicyDecision, PolicyOutcome } from "./decide.ts";
import { goJson } from "../../../meta/go-json.ts";
import type { PolicyBinding, AdmissionPolicy } from "./policy-table.ts";

const VALIDATION_FAILURE = "validation.policy.admission.k8s.io/validation_failure";
const ANNOTATION_BYTES_MAX = 10 * 1024;

interface Denial {
  readonly message: string;
  readonly reason: DenyReason;
}

function cut(value: string): string {
  const bytes = Buffer.from(value);
  return bytes.length <= ANNOTATION_BYTES_MAX ? value : bytes.subarray(0, ANNOTATION_BYTES_MAX).toString();
}

function deniedBy(policy: AdmissionPolicy<unknown>, binding: PolicyBinding | undefined, message: string): string {
  const by = binding === undefined ? "" : ` with binding '${binding.name}'`;
  return `ValidatingAdmissionPolicy '${policy.name}'${by} denied request: ${message}`;
}

export class PolicyFindings {
  readonly #attributes: Attributes;
  #denial: Denial | undefined;
  readonly #annotations = new Set<string>();

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  /** Keeps only the first denial. */
  #deny(message: string, reason: DenyReason = "Invalid"): void {
    this.#denial ??= { message, reason };
  }

  /** Denies the write because the policy or its binding is invalid, unless the failurePolicy is Ignore. */
  configurationError(policy: AdmissionPolicy<unknown>, binding: PolicyBinding | undefined, why: string): void {
    if (policy.isIgnoring) return;
    const what = binding === undefined ? "policy" : "binding";
    this.#deny(deniedBy(policy, binding, `failed to configure ${what}: ${why}`));
  }

  /**
   * Adds the result of one evaluation. `values` collects the audit annotations of all bindings and parameters of the
   * policy.
   */
  outcome(
    policy: AdmissionPolicy<unknown>,
    binding: PolicyBinding,
    { decisions, annotations }: PolicyOutcome,
    values: AnnotationValues,
  ): void {
    for (const [index, decision] of decisions.entries())
      if (decision !== undefined) this.#decision(policy, binding, decision, index);
    for (const annotation of annotations) {
      if (annotation.kind === "error") this.#deny(deniedBy(policy, binding, annotation.message));
      else values.add(annotation.key, cut(annotation.value));
    }
  }

  #decision(
    policy: AdmissionPolicy<unknown>,
    binding: PolicyBinding,
    decision: NonNullable<PolicyDecision>,
    index: number,
  ): void {
    const { message, reason } = decision;
    for (const action of binding.actions) {
      if (action === "Deny") this.#deny(deniedBy(policy, binding, message), reason);
      else if (action === "Warn")
        this.#attributes.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
        );
      else if (action === "Audit") {
        const failure = { message, policy: binding.policyName, binding: binding.name, expressionIndex: index };
        this.#annotateOnce(VALIDATION_FAILURE, goJson([{ ...failure, validationActions: binding.actions }]));
      }
    }
  }

  annotate(policy: AdmissionPolicy<unknown>, values: AnnotationValues): void {
    for (const [key, value] of values.joined()) this.#annotateOnce(`${policy.name}/${key}`, value);
  }

  /** Sets the annotation unless an earlier result has set it. */
  #annotateOnce(key: string, value: string): void {
    if (this.#annotations.has(key)) return;
    this.#annotations.add(key);
    this.#attributes.annotate(key, value);
  }

  /** Throws a StatusError if a policy has denied the write. */
  conclude(): void {
    if (this.#denial === undefined) return;
    const { message, reason } = this.#denial;
    const { message: text, details } = admissionForbidden(this.#attributes, message);
    throw new StatusError(reason, text, { details: { ...details, causes: [{ message }] } });
  }
}

/** The audit annotations of one policy, with the values from all its bindings and parameters. */
export class AnnotationValues {
  readonly #values = new Map<string, Set<string>>();

  add(key: string, value: string): void {
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, new Set([value]));
    else known.add(value);
  }

  *joined(): Generator<[string, string]> {
    for (const [key, values] of this.#values) yield [key, [...values].join(", ")];
  }
}
