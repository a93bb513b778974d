/** Turns what the registry answers into the bytes of one representation. */
import type { JsonObject } from "../../meta/json.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { Listed } from "../../registry/list.ts";

export interface Renderer {
  /** Names the encoding: watchers with the same key share the bytes of an event. */
  readonly key: string;
  /** The stored object. */
  entry(entry: Entry): readonly Buffer[];
  /** An object that is not stored: a dry run's, or one that has just been removed. */
  object(object: JsonObject): readonly Buffer[];
  list(listed: Listed): readonly Buffer[];
  /** A bookmark's object, as JSON text. */
  bookmark(metadata: string): string;
  /** The renderer for everything after the first event of a watch. */
  readonly following?: Renderer;
}

/** A list's metadata as every form of list carries it. */
export function listMetadata(listed: Listed): string {
  return JSON.stringify({
    resourceVersion: String(listed.revision),
    ...(listed.continueToken === undefined ? {} : { continue: listed.continueToken }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  });
}
