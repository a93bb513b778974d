/** Declares the writes that a plugin handles. */
import type { Operation } from "../../../serving/registry/admission.ts";
import type { AdmissionPlugin } from "../admission.ts";

interface Interest {
  readonly group: string;
  readonly resource: string;
  /** The handled subresources by operation; "" stands for the object itself. */
  readonly operations: Partial<Readonly<Record<Operation, readonly string[]>>>;
}

export function handlesOnly(...interests: readonly Interest[]): AdmissionPlugin["handles"] {
  return (operation, { groupVersion, resource, subresource }) =>
    interests.some(
      (interest) =>
        interest.resource === resource &&
        interest.group === groupVersion.group &&
        (interest.operations[operation]?.includes(subresource) ?? false),
    );
}

export const CREATE_AND_UPDATE: Interest["operations"] = { CREATE: [""], UPDATE: [""] };
