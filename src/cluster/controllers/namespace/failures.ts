/** Decides what an error response proves about an object, and describes failures in conditions. */
import { messageOf } from "../../../base/within.ts";
import { HTTP_CODE, StatusError } from "../../../meta/status-error.ts";

/**
 * Whether a server that serves the resource has looked up the object and not found it. Any other 404 proves nothing
 * about the object.
 */
export function isAbsent(thrown: unknown): boolean {
  return thrown instanceof StatusError && thrown.reason === "NotFound" && (thrown.details?.name ?? "") !== "";
}

/**
 * Whether the server does not serve the resource, or cannot reach a server that does. Another version of the resource
 * may be reachable.
 */
export function isOutOfReach(thrown: unknown): boolean {
  if (!(thrown instanceof StatusError)) return false;
  return thrown.code === HTTP_CODE.ServiceUnavailable || (thrown.reason === "NotFound" && !isAbsent(thrown));
}

export function isMethodNotAllowed(thrown: unknown): boolean {
  return thrown instanceof StatusError && thrown.reason === "MethodNotAllowed";
}

const TEXT_LENGTH_MAX = 400;

/** The message of a failure. If the proxy returned a 503 that does not name its servers, they are added. */
export function describeFailure(thrown: unknown): string {
  const message = messageOf(thrown);
  const servers = ["server", "peer"]
    .map((field) => [field, causeOf(thrown, field)] as const)
    .filter(([, id]) => id !== undefined && !message.includes(id))
    .map(([field, id]) => `${field} ${id}`);
  const text = servers.length === 0 ? message : `${message} (${servers.join(", ")})`;
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}

export function causeOf(thrown: unknown, field: string): string | undefined {
  if (!(thrown instanceof StatusError)) return undefined;
  return thrown.details?.causes?.find((cause) => cause.field === field)?.message;
}
