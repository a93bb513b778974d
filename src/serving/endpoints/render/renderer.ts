/** The interface that renders the results of the registry as the bytes of one representation. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import type { Listed } from "../../registry/list.ts";
import type { Rendered, WireFormat } from "./wire-format.ts";

export interface Renderer {
  /** Identifies the representation: watchers with the same key share the bytes of an event. */
  readonly key: string;
  readonly format: WireFormat;
  /** Renders a stored object. */
  entry(entry: Entry): Rendered;
  /** Renders an object that is not stored, such as the result of a dry run or an object that has just been deleted. */
  object(object: JsonObject): Rendered;
  /**
   * Returns the object without managedFields as a value, for the server's own informers. `decoded` is the decoded stored
   * object, if it is at hand; otherwise the object is parsed. Absent if the representation is read as bytes only.
   */
  value?(entry: Entry, decoded: JsonObject | undefined): JsonObject;
  /**
   * Renders a list. The protobuf renderer returns a promise, because it pauses while it encodes items that are not
   * cached, so that other requests can proceed.
   */
  list(listed: Listed): Rendered | Promise<Rendered>;
  /** Renders the object of a bookmark. `metadata` is JSON text. */
  bookmark(metadata: string): readonly Buffer[];
  /** The renderer for all events of a watch after the first one. Absent if it is the same renderer. */
  readonly following?: Renderer;
}

interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** The metadata of a list in every representation. */
export function listMetadata(listed: Listed): ListMetadata {
  return {
    resourceVersion: String(listed.revision),
    ...(listed.continueToken === undefined ? {} : { continue: listed.continueToken }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  };
}
