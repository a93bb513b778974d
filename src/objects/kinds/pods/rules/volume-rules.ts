/** Validation of the volumes of a pod. */
import { duplicateValue, forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { dnsLabelFieldErrors } from "./formats.ts";
import type { SpecContext } from "./spec-context.ts";
import { VOLUME_SOURCES } from "./volume-source-rules.ts";

const INITIATOR_LENGTH_MAX = 64;

interface CheckedVolumes {
  /** The valid volumes, which containers can mount, keyed by name. */
  readonly valid: ReadonlyMap<string, JsonObject>;
  readonly errors: readonly FieldError[];
}

export function checkedVolumes(spec: JsonObject, field: string, context: SpecContext): CheckedVolumes {
  const volumes = objectsAt(spec, "volumes");
  const podName = context.metadata === undefined ? "" : stringAt(context.metadata, "name");
  const created = new Set(
    volumes
      .filter((volume) => podName !== "" && isJsonObject(volume["ephemeral"]))
      .map((volume) => `${podName}-${stringAt(volume, "name")}`),
  );
  const valid = new Map<string, JsonObject>();
  const errors: FieldError[] = [];
  for (const [index, volume] of volumes.entries()) {
    const at = `${field}[${index}]`;
    const name = stringAt(volume, "name");
    const found = [...volumeErrors(volume, at, context)];
    if (valid.has(name)) found.push(duplicateValue(`${at}.name`, name));
    if (found.length === 0) valid.set(name, volume);
    errors.push(...found);
    const claim = stringAt(objectAt(volume, "persistentVolumeClaim"), "claimName");
    if (claim !== "" && created.has(claim))
      errors.push(
        invalidValue(
          `${at}.persistentVolumeClaim.claimName`,
          claim,
          "must not reference a PVC that gets created for an ephemeral volume",
        ),
      );
  }
  return { valid, errors };
}

function* volumeErrors(volume: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  yield* sourceErrors(volume, field, context);
  const name = stringAt(volume, "name");
  if (name === "") yield required(`${field}.name`);
  else yield* dnsLabelFieldErrors(name, `${field}.name`);
}

function* sourceErrors(volume: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  let count = 0;
  for (const { member, shownAs, shownInside, errors } of VOLUME_SOURCES) {
    const source = volume[member];
    if (!isJsonObject(source)) continue;
    if (count > 0) yield forbiddenField(`${field}.${shownAs ?? member}`, "may not specify more than 1 volume type");
    else {
      yield* errors(source, `${field}.${shownInside ?? member}`, context);
      if (member === "ephemeral") yield* claimNameErrors(volume, field, context);
    }
    count++;
    if (member === "iscsi") yield* initiatorErrors(volume, field);
  }
  if (count === 0) yield required(field, "must specify a volume type");
}

function* initiatorErrors(volume: JsonObject, field: string): Generator<FieldError> {
  const iscsi = objectAt(volume, "iscsi");
  const name = stringAt(volume, "name");
  const length = `${name}:${stringAt(iscsi, "targetPortal")}`.length;
  if (iscsi["initiatorName"] !== undefined && length > INITIATOR_LENGTH_MAX)
    yield invalidValue(
      `${field}.name`,
      name,
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
    );
}

/** Checks the name of the claim of an ephemeral volume, which consists of the names of the pod and the volume. */
function* claimNameErrors(volume: JsonObject, field: string, { metadata }: SpecContext): Generator<FieldError> {
  const podName = metadata === undefined ? "" : stringAt(metadata, "name");
  const name = stringAt(volume, "name");
  if (podName === "" || name === "") return;
  const claim = `${podName}-${name}`;
  for (const sentence of dnsSubdomainErrors(claim))
    yield invalidValue(`${field}.name`, name, `PVC name ${JSON.stringify(claim)}: ${sentence}`);
}
