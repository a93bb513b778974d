/**
 * Parses the response of a server that rejects the finalizing of a namespace because the store still holds objects of
 * that namespace.
 */
import { StatusError } from "../../../meta/status-error.ts";
import { causeOf } from "./failures.ts";
import type { RemainingResource } from "./delete-content.ts";

/**
 * The value of the cause `rule` in such a rejection. The other causes are resources with the number of their objects.
 */
const HOLDS_OBJECTS = "namespace-holds-objects";

/** Returns undefined for any other response. */
export function heldObjects(thrown: unknown): readonly RemainingResource[] | undefined {
  if (!(thrown instanceof StatusError) || causeOf(thrown, "rule") !== HOLDS_OBJECTS) return undefined;
  return (thrown.details?.causes ?? []).flatMap(({ field = "", message = "" }) => {
    const count = Number(message);
    return field === "" || !Number.isSafeInteger(count) ? [] : [{ ...parseGroupResource(field), count }];
  });
}

/** Parses "pods" or "deployments.apps". */
function parseGroupResource(text: string): Pick<RemainingResource, "group" | "resource"> {
  const dot = text.indexOf(".");
  return dot < 0 ? { group: "", resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}
