/** Validation of VolumeAttachments. */
import { forbiddenField, invalidValue, required, tooLong } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { driverNameErrors } from "../pods/rules/formats.ts";
import { ownPointer, ownStruct, setMissing, setRoundedResources } from "../defaults.ts";
import { setVolumeSourceDefaults } from "./persistent-volume.ts";
import { inlineVolumeSpecErrors } from "./volume-spec.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";

const METADATA_BYTES_MAX = 256 * 1024;
const ERROR_MESSAGE_BYTES_MAX = 1024;

export const VOLUME_ATTACHMENT: Kind = {
  setDefaults(attachment) {
    setMissing(ownStruct(attachment, "status"), { attached: false });
    const inline = ownPointer(ownStruct(ownStruct(attachment, "spec"), "source"), "inlineVolumeSpec");
    if (inline === undefined) return;
    setRoundedResources(inline, "capacity");
    setVolumeSourceDefaults(inline);
  },
  prepareCreate(attachment) {
    attachment["status"] = { attached: false };
  },
  createErrors: attachmentErrors,
  updateErrors: attachmentUpdateErrors,
  statusUpdateErrors: attachmentUpdateErrors,
  keepsMetadataInStatus: true,
};

function* attachmentUpdateErrors(attachment: JsonObject, existing: JsonObject): Generator<FieldError> {
  yield* attachmentErrors(attachment);
  if (!isSameInternal(attachment["spec"], existing["spec"], "VolumeAttachmentSpec"))
    yield invalidValue("spec", internalValue(attachment["spec"], "VolumeAttachmentSpec"), "field is immutable");
}

function* attachmentErrors(attachment: JsonObject): Generator<FieldError> {
  const spec = objectAt(attachment, "spec");
  yield* driverNameErrors(stringAt(spec, "attacher"), "spec.attacher");
  yield* sourceErrors(objectAt(spec, "source"), "spec.source");
  yield* nameErrors(stringAt(spec, "nodeName"), "spec.nodeName", dnsSubdomainErrors);
  yield* statusErrors(objectAt(attachment, "status"));
  const { persistentVolumeName } = objectAt(spec, "source");
  if (typeof persistentVolumeName === "string")
    yield* nameErrors(persistentVolumeName, "spec.source.persistentVolumeName", dnsSubdomainErrors);
}

function* sourceErrors(source: JsonObject, field: string): Generator<FieldError> {
  const { inlineVolumeSpec, persistentVolumeName } = source;
  const exactlyOne = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (inlineVolumeSpec === undefined && persistentVolumeName === undefined) yield required(field, exactlyOne);
  else if (inlineVolumeSpec !== undefined && persistentVolumeName !== undefined)
    yield forbiddenField(field, exactlyOne);
  else if (persistentVolumeName === "")
    yield required(`${field}.persistentVolumeName`, "must specify non empty persistentVolumeName");
  else if (inlineVolumeSpec !== undefined)
    yield* inlineVolumeSpecErrors(objectAt(source, "inlineVolumeSpec"), `${field}.inlineVolumeSpec`);
}

function* statusErrors(status: JsonObject): Generator<FieldError> {
  const metadata = objectAt(status, "attachmentMetadata");
  const bytes = Object.keys(metadata).reduce(
    (sum, key) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(metadata[key])),
    0,
  );
  if (bytes > METADATA_BYTES_MAX) yield tooLong("status.attachmentMetadata", METADATA_BYTES_MAX);
  for (const key of ["attachError", "detachError"]) {
    const error = objectAt(status, key);
    // As kubernetes: the error shows the limit of attachmentMetadata, not that of the message.
    if (Buffer.byteLength(stringAt(error, "message")) > ERROR_MESSAGE_BYTES_MAX)
      yield tooLong(`status.${key}.message`, METADATA_BYTES_MAX);
    const code = numberAt(error, "errorCode") ?? 0;
    if (code < 0) yield invalidValue(`status.${key}.errorCode`, code, "must be between 0 and 2147483647, inclusive");
  }
}
