/** The only error that clients receive, and the closed set of its reasons. */
import { aggregateText } from "./aggregate-text.ts";
import { formatGroupResource, type GroupResource } from "./group-version.ts";

export const HTTP_CODE = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  RequestHeaderFieldsTooLarge: 431,
  InternalError: 500,
  /** A list, or the deletion that a watch delivers, contains objects that cannot be read. */
  StorageReadError: 500,
  /** Failures that kube-apiserver reports as a bare 500 without a reason. */
  "": 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type Reason = keyof typeof HTTP_CODE;

export type CauseReason =
  | "FieldValueInvalid"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "FieldValueNotFound"
  | "InternalError"
  | "FieldManagerConflict"
  | "NamespaceTerminating"
  | "DisruptionBudget"
  | "ResourceVersionTooLarge"
  | "UnexpectedServerResponse";

export interface StatusCause {
  readonly reason?: CauseReason;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

export interface StatusErrorOptions {
  readonly details?: StatusDetails;
  readonly cause?: unknown;
  /** For an expired list: the token with which the client can continue the list inconsistently. */
  readonly continueToken?: string;
}

export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly reason: Reason;
  readonly details: StatusDetails | undefined;
  readonly continueToken: string | undefined;

  constructor(reason: Reason, message: string, options: StatusErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.details = options.details;
    this.continueToken = options.continueToken;
  }

  get code(): number {
    return HTTP_CODE[this.reason];
  }

  toStatus(): Status {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }

  /** Returns a StatusError unchanged; wraps anything else in an InternalError that does not expose its text. */
  static from(thrown: unknown): StatusError {
    if (thrown instanceof StatusError) return thrown;
    return new StatusError("InternalError", "Internal error occurred: the request could not be completed", {
      details: { causes: [{ message: "the request could not be completed" }] },
      cause: thrown,
    });
  }
}

export function isReason(thrown: unknown, reason: Reason): thrown is StatusError {
  return thrown instanceof StatusError && thrown.reason === reason;
}

export function badRequest(message: string): StatusError {
  return new StatusError("BadRequest", message);
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return new StatusError("NotFound", `${formatGroupResource(resource)} ${JSON.stringify(name)} not found`, {
    details: resourceDetails(resource, name),
  });
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError("AlreadyExists", `${formatGroupResource(resource)} ${JSON.stringify(name)} already exists`, {
    details: resourceDetails(resource, name),
  });
}

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return new StatusError(
    "Conflict",
    `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${JSON.stringify(name)}: ${why}`,
    {
      details: resourceDetails(resource, name),
    },
  );
}

export function forbidden(
  resource: GroupResource,
  name: string,
  why: string,
  causes?: readonly StatusCause[],
): StatusError {
  const subject =
    name === "" ? formatGroupResource(resource) : `${formatGroupResource(resource)} ${JSON.stringify(name)}`;
  return new StatusError("Forbidden", `${subject} is forbidden: ${why}`, {
    details: { ...resourceDetails(resource, name), ...(causes === undefined ? {} : { causes }) },
  });
}

/** The error for a path that names no resource, or a resource that no server serves. */
export function unknownResource(): StatusError {
  return new StatusError("NotFound", "the server could not find the requested resource", { details: {} });
}

export function methodNotAllowed(): StatusError {
  return new StatusError("MethodNotAllowed", "the server does not allow this method on the requested resource", {
    details: {},
  });
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );
}

export function notAcceptable(offered: readonly string[]): StatusError {
  return new StatusError("NotAcceptable", `only the following media types are accepted: ${offered.join(", ")}`);
}

export function requestEntityTooLarge(message: string): StatusError {
  return new StatusError("RequestEntityTooLarge", `Request entity too large: ${message}`);
}

export function expired(message: string, continueToken?: string): StatusError {
  return new StatusError("Expired", message, continueToken === undefined ? {} : { continueToken });
}

/** 503 for a resource that may soon be available; the response always has Retry-After. */
export function serviceUnavailable(message: string, retryAfterSeconds: number, cause?: unknown): StatusError {
  return new StatusError("ServiceUnavailable", message, { details: { retryAfterSeconds }, cause });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError("TooManyRequests", message, { details: { retryAfterSeconds } });
}

export interface FieldError {
  readonly field: string;
  readonly reason: CauseReason;
  /** The text after `field: ` in the message, such as `Required value: name or generateName is required`. */
  readonly message: string;
}

/** 422 for an object, or for request options (`kind` = ListOptions, `group` = meta.k8s.io). */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  // As kubernetes NewInvalid: the message contains each distinct error once, the causes keep all of them.
  const text = aggregateText(errors.map(({ field, message }) => `${field}: ${message}`));
  const label = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError("Invalid", `${label} ${JSON.stringify(name)} is invalid: ${text}`, {
    details: {
      ...(name === "" ? {} : { name }),
      ...(kind.group === "" ? {} : { group: kind.group }),
      kind: kind.kind,
      causes: errors.map(({ field, reason, message }) => ({ reason, message, field })),
    },
  });
}

function resourceDetails({ group, resource }: GroupResource, name: string): StatusDetails {
  return { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: resource };
}
