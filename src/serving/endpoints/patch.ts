/** Reads a PATCH other than server-side apply. The body is read once, and applied each time to the current object. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { requestEntityTooLarge, StatusError, unsupportedMediaType } from "../../meta/status-error.ts";
import { goZeros } from "../../objects/go/go-zeros.ts";
import { jsonLength } from "../../objects/patch/json-size.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { ServedResource } from "../registry/resource.ts";
import { APPLY_PATCH_TYPE } from "./apply.ts";
import { contentType, decodeAs, readRequestBody, type DecodeContext, type DecodedBody } from "./decode-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import { judgeOf, type ForwardedRequest } from "./field-loss.ts";
import { BODY_BYTES_MAX } from "./endpoint-limits.ts";
import { writeOptions } from "./options.ts";
import { invalidPatch, READERS, type PatchBody } from "./patch-body.ts";
import type { RequestedWrite } from "./write-options.ts";

/** All patch media types. */
export const PATCH_TYPES: ReadonlySet<string> = new Set([...READERS.keys(), APPLY_PATCH_TYPE]);

/** The patch types of custom resources. Strategic merge patches need a Go type, whose tags define how to merge. */
const CUSTOM_PATCH_TYPES: readonly string[] = [
  "application/json-patch+json",
  "application/merge-patch+json",
  APPLY_PATCH_TYPE,
];

export async function readPatch(call: EndpointCall, kind: ServedResource): Promise<RequestedWrite> {
  const { request } = call;
  const readPatchBody = readerOf(contentType(request), call.served);
  const bytes = await readRequestBody(request);
  const { dryRun, fieldValidation: validation, manager } = writeOptions(request, "PatchOptions");
  const judge = judgeOf(call, bytes);
  const zeros = goZeros(call.protobuf);
  let body: PatchBody | undefined;
  let warnings: readonly string[] = [];
  // Called only for an existing object, so an invalid patch of an absent object returns 404.
  const next = (existing: JsonObject): JsonObject | ForwardedRequest => {
    body ??= readPatchBody({ bytes, validation, kind });
    const { apply, problems, omission, invalidError: rejection } = body;
    const checks = { validation, syntaxProblems: problems, judge, zeros, existing, omission };
    const decoded = decodePatched(kind, apply(existing), { ...checks, invalidError: rejection });
    if (decoded instanceof Forwarded) return decoded;
    warnings = decoded.warnings;
    return decoded.object;
  };
  return { manager, dryRun, next, warnings: () => warnings };
}

function readerOf(type: string, { schema }: ServedResource): NonNullable<ReturnType<(typeof READERS)["get"]>> {
  if (schema.isCustom && !CUSTOM_PATCH_TYPES.includes(type)) throw unsupportedMediaType(CUSTOM_PATCH_TYPES);
  const read = READERS.get(type);
  if (read !== undefined) return read;
  throw new StatusError("UnsupportedMediaType", "415: Unsupported Media Type", { details: {} });
}

type PatchChecks = Omit<DecodeContext, "bytes" | "problem"> &
  Pick<PatchBody, "omission" | "invalidError"> & { readonly existing: JsonObject };

function decodePatched(
  served: ServedResource,
  patched: unknown,
  { invalidError, ...checks }: PatchChecks,
): DecodedBody | ForwardedRequest {
  if (!isJsonObject(patched)) throw invalidPatch(NOT_AN_OBJECT);
  rejectGrown(patched, checks.existing);
  return decodeAs(served, patched, {
    ...checks,
    bytes: undefined,
    problem: (_kind, _version, why) => invalidError(why, patched),
  });
}

const NOT_AN_OBJECT = String.raw`couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

/** Rejects a patch that enlarges the object if the result exceeds the size limit of a request body. */
function rejectGrown(patched: JsonObject, existing: JsonObject): void {
  if (jsonLength(patched, BODY_BYTES_MAX) <= BODY_BYTES_MAX) return;
  if (jsonLength(patched, Infinity) > jsonLength(existing, Infinity)) {
    throw requestEntityTooLarge(`limit is ${BODY_BYTES_MAX}`);
  }
}
