/** Decodes protobuf values that kube-apiserver has written into the same store. */
import { objectAt } from "../../meta/json.ts";
import { decodeProtobufObject, ProtobufDecodeError, type ProtobufTables } from "../../objects/protobuf/decode.ts";
import { setClaimKinds } from "../../objects/kinds/workloads/claim-templates.ts";
import { canonicalMetadata } from "./representation.ts";
import type { DecodeForeign } from "../../storage/watch-cache/entry.ts";

/** The protobuf tables are loaded when the first such value is read. */
export function storedProtobufDecoder(tables: () => ProtobufTables): DecodeForeign {
  return (value) => {
    try {
      const object = decodeProtobufObject(value, tables());
      if (object["kind"] === "StatefulSet") setClaimKinds(object);
      const { kind, apiVersion, metadata: _metadata, ...rest } = object;
      return { kind, apiVersion, metadata: canonicalMetadata(objectAt(object, "metadata")), ...rest };
    } catch (thrown) {
      if (!(thrown instanceof ProtobufDecodeError)) throw thrown;
      return `the value is encoded as protobuf and cannot be read: ${thrown.message}`;
    }
  };
}
