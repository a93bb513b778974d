/** Turns what the registry answers into the bytes of one representation. */
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
  /** An object that is not stored: a dry run's, or one that has just been removed. */
  object(object: JsonObject): Rendered;
  /** At once where the items are there, with pauses for others where they have to be made. */
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

/** A list's metadata as every form of list carries it. */
export function listMetadata(listed: Listed): ListMetadata {
  return {
    resourceVersion: String(listed.revision),
    ...(listed.continueToken === undefined ? {} : { continue: listed.continueToken }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  };
}
