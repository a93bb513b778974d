/** Turns results of the registry into the bytes of one representation. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import type { Listed } from "../../registry/list.ts";
import type { Rendered, WireFormat } from "./wire-format.ts";

export interface Renderer {
  /** Names the encoding: watchers with the same key share the bytes of an event. */
  readonly key: string;
  readonly format: WireFormat;
  /** The stored object. */
  entry(entry: Entry): Rendered;
  /** An object that is not stored: that of a dry run, or one that has just been removed. */
  object(object: JsonObject): Rendered;
  /** Synchronous if the items are cached; otherwise it pauses between items to let other requests proceed. */
  list(listed: Listed): Rendered | Promise<Rendered>;
  /** A bookmark's object, whose metadata is this JSON text. */
  bookmark(metadata: string): readonly Buffer[];
  /** The renderer for everything after the first event of a watch. */
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
