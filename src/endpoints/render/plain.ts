/** Objects as they are. The items of a list and the members of an object are the cache's own buffers. */
import { itemIn, membersIn } from "../../registry/representation.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { listMetadata, type Renderer } from "./renderer.ts";

const LIST_TAIL = Buffer.from("]}");

export function plainRenderer(served: ServedResource): Renderer {
  const { apiVersion, kind, listKind, objectHead } = served;
  return {
    key: apiVersion,
    entry: (entry) => [objectHead, membersIn(entry, served)],
    object: (object) => [Buffer.from(JSON.stringify(object))],
    list(listed) {
      const head = `{"kind":${JSON.stringify(listKind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${listMetadata(listed)},"items":[`;
      const chunks: Buffer[] = [Buffer.from(head)];
      for (const entry of listed.entries) {
        const item = itemIn(entry, served);
        chunks.push(chunks.length === 1 ? item.subarray(1) : item);
      }
      chunks.push(LIST_TAIL);
      return chunks;
    },
    bookmark: (metadata) =>
      `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${metadata}}`,
  };
}
