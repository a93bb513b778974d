/** The errors of webhook calls, with kubernetes' messages. */
import { goQuote } from "../../../meta/go-quote.ts";
import { numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import {
  badRequest,
  StatusError,
  type Status,
  type StatusCause,
  type StatusDetails,
} from "../../../meta/status-error.ts";

/** A webhook returned no usable response. The failure policy decides whether the write is rejected. */
export class WebhookCallError extends Error {
  override readonly name = "WebhookCallError";

  constructor(webhook: string, why: string, cause?: unknown) {
    super(`failed calling webhook ${goQuote(webhook)}: ${why}`, { cause });
  }
}

const CODE_MIN = 400;
/** Maximum number of causes in a denial. */
const CAUSES_MAX = 100;
/** The largest status code that an HTTP response line can contain. */
const CODE_MAX = 999;

/** A denial, with the code, the reason and the details that the webhook returned. */
class WebhookDenial extends StatusError {
  readonly #status: Status;

  constructor(webhook: string, result: JsonObject) {
    const status = statusOf(webhook, result);
    super("", status.message ?? "");
    this.#status = status;
  }

  override get code(): number {
    return this.#status.code ?? CODE_MIN;
  }

  override toStatus(): Status {
    return this.#status;
  }
}

export function denial(webhook: string, result: JsonObject): StatusError {
  return new WebhookDenial(webhook, result);
}

export function isDenial(thrown: unknown): thrown is StatusError {
  return thrown instanceof WebhookDenial;
}

function statusOf(webhook: string, result: JsonObject): Status {
  const deniedBy = `admission webhook ${goQuote(webhook)} denied the request`;
  const reason = stringAt(result, "reason");
  const why = stringAt(result, "message") || reason;
  const code = numberAt(result, "code") ?? 0;
  const status = stringAt(result, "status");
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: metadataOf(objectAt(result, "metadata")),
    // A webhook may return any status; only Success and an absent status become Failure.
    status: (status === "Success" ? "" : (status as Status["status"])) || "Failure",
    message: why === "" ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(reason === "" ? {} : { reason }),
    ...detailsOf(result),
    // DIFFERS: kube-apiserver fails to send a response whose code is outside the range of HTTP.
    code: Math.min(Math.max(code, CODE_MIN), CODE_MAX),
  };
}

function metadataOf(metadata: JsonObject): Record<string, string> {
  return texts(metadata, ["selfLink", "resourceVersion", "continue"]);
}

function detailsOf(result: JsonObject): { readonly details?: StatusDetails } {
  const { details } = result;
  if (details === undefined || details === null) return {};
  const given = objectAt(result, "details");
  const causes = objectsAt(given, "causes")
    .slice(0, CAUSES_MAX)
    .map((cause) => texts(cause, ["reason", "message", "field"]) as StatusCause);
  const retryAfterSeconds = numberAt(given, "retryAfterSeconds") ?? 0;
  return {
    details: {
      ...texts(given, ["name", "group", "kind", "uid"]),
      ...(causes.length === 0 ? {} : { causes }),
      ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    },
  };
}

function texts(parent: JsonObject, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) if (stringAt(parent, name) !== "") found[name] = stringAt(parent, name);
  return found;
}

export function dryRunUnsupported(webhook: string): StatusError {
  return badRequest(`admission webhook ${goQuote(webhook)} does not support dry run`);
}

export function internalError(why: string, cause?: unknown): StatusError {
  return new StatusError("InternalError", `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
    cause,
  });
}

/** The error of a request whose client has disconnected or that has timed out. */
export function requestEnded(): StatusError {
  return new StatusError("Timeout", "Timeout: request did not complete within requested timeout", { details: {} });
}
