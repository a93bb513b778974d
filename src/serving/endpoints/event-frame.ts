/**
 * A watch event that is encoded only when a client needs its bytes. The server's own informers read it as a value, so an
 * event that only they receive is neither encoded nor parsed.
 */
import type { Counter } from "../../base/metrics.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { SelectedEvent } from "../registry/watch.ts";
import type { ObjectEvent, StreamFrame } from "../http/message.ts";
import type { Renderer } from "./render/renderer.ts";

export class EventFrame implements StreamFrame {
  chunked?: Buffer;
  gzipped?: StreamFrame;
  readonly #selected: SelectedEvent;
  readonly #renderer: Renderer;
  readonly #encodings: Counter;
  /** The decoded object of the event, while its change is delivered. */
  readonly #decoded: () => JsonObject | undefined;
  #bytes: Buffer | undefined;
  #event: ObjectEvent | undefined;

  constructor(
    selected: SelectedEvent,
    options: {
      readonly renderer: Renderer;
      readonly encodings: Counter;
      readonly decoded: () => JsonObject | undefined;
    },
  ) {
    this.#selected = selected;
    this.#renderer = options.renderer;
    this.#encodings = options.encodings;
    this.#decoded = options.decoded;
  }

  get bytes(): Buffer {
    if (this.#bytes !== undefined) return this.#bytes;
    this.#encodings.inc();
    const { type, entry } = this.#selected;
    return (this.#bytes = this.#renderer.format.event(type, this.#renderer.entry(entry).chunks));
  }

  get event(): ObjectEvent | undefined {
    const { type, entry } = this.#selected;
    if (this.#renderer.value === undefined) return undefined;
    return (this.#event ??= { type, object: this.#renderer.value(entry, this.#decoded()) });
  }
}
