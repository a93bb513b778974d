/** Renders whole objects as JSON. The chunks of a response are the buffers of the watch cache itself. */
import { itemIn, membersIn } from "../../registry/representation.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { listMetadata, type Renderer } from "./renderer.ts";
import { jsonRendered, JSON_FORMAT } from "./wire-format.ts";

const LIST_TAIL = Buffer.from("]}");
const COMMA = Buffer.from(",");

/** As kubernetes: lists of custom resources always contain `continue`, even if it is empty. */
export function plainRenderer(served: ServedResource): Renderer {
  const { apiVersion, listKind, objectHead } = served;
  // Items of custom resources contain kind and apiVersion; those of built-in kinds do not.
  const itemHead = served.custom === undefined ? undefined : Buffer.concat([COMMA, objectHead]);
  return {
    key: apiVersion,
    format: JSON_FORMAT,
    entry: (entry) => jsonRendered([objectHead, membersIn(entry, served)]),
    object: (object) => jsonRendered([Buffer.from(JSON.stringify(object))]),
    list(listed) {
      const metadata = served.custom === undefined ? listMetadata(listed) : { continue: "", ...listMetadata(listed) };
      const head = `{"kind":${JSON.stringify(listKind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(metadata)},"items":[`;
      const chunks: Buffer[] = [Buffer.from(head)];
      for (const entry of listed.entries) {
        const isFirst = chunks.length === 1;
        if (itemHead === undefined) chunks.push(isFirst ? itemIn(entry, served).subarray(1) : itemIn(entry, served));
        else chunks.push(isFirst ? objectHead : itemHead, membersIn(entry, served));
      }
      chunks.push(LIST_TAIL);
      return jsonRendered(chunks);
    },
    bookmark: (metadata) => [objectHead, Buffer.from(`"metadata":${metadata}}`)],
  };
}
