import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { VOLUME_ATTACHMENT } from "./volume-attachment.ts";

const SPEC = { attacher: "d.example.com", nodeName: "n", source: { persistentVolumeName: "v" } };

function attachment(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  return { metadata: { name: "a" }, spec: { ...SPEC, ...spec }, status };
}

test("a new VolumeAttachment is stored as not attached", () => {
  expect(prepared(VOLUME_ATTACHMENT, attachment({}, { attached: true }))).toEqual(attachment({}, { attached: false }));
});

test.each<[string, JsonObject, readonly string[]]>([
  ["is accepted if it is valid", {}, []],
  [
    "needs an attacher and a source",
    { attacher: "", nodeName: "n", source: {} },
    [
      "spec.attacher: Required value",
      "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
    ],
  ],
  [
    "needs exactly one source",
    { source: { persistentVolumeName: "v", inlineVolumeSpec: {} } },
    ["spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
  ],
  [
    "accepts only CSI in an inline volume spec",
    { source: { inlineVolumeSpec: { hostPath: { path: "/" }, capacity: { storage: "1" }, volumeMode: "Block" } } },
    [
      "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes",
      "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
      "spec.source.inlineVolumeSpec.accessModes: Required value",
      "spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes",
    ],
  ],
])("a new VolumeAttachment %s", (_what, spec, sentences) => {
  expect(createErrorsOf(VOLUME_ATTACHMENT, attachment(spec))).toEqual(sentences);
});

test("the spec of a VolumeAttachment is immutable", () => {
  expect(updateErrorsOf(VOLUME_ATTACHMENT, attachment(), attachment({ nodeName: "m" }))).toEqual([
    'spec: Invalid value: {"Attacher":"d.example.com","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable',
  ]);
});

test("the status of a VolumeAttachment is validated", () => {
  const status = {
    attached: false,
    attachmentMetadata: { a: "x".repeat(256 * 1024) },
    attachError: { message: "x".repeat(1025), errorCode: -1 },
  };
  expect(statusUpdateErrorsOf(VOLUME_ATTACHMENT, attachment(), attachment({}, status))).toEqual([
    "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
    "status.attachError.message: Too long: may not be more than 262144 bytes",
    "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
  ]);
});
