/**
 * One open watch. It sends the initial objects, then changes as they happen, and bookmarks in between. The stream has
 * no queue of its own: while the client reads slowly, the stream takes no events from the shared history. If the
 * history drops an event that the stream has not yet taken, the watch ends.
 */
import type { Cancel, Clock } from "../../base/clock.ts";
import type { Counter } from "../../base/metrics.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { StreamFrame, StreamSink } from "../http/message.ts";
import { expired, StatusError } from "../../meta/status-error.ts";
import { conversionOf, whyUnreadable } from "../registry/representation.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { SelectedEvent, WatchStart } from "../registry/watch.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { CacheEvent, Delivery, HistoryWatch } from "../../storage/watch-cache/history.ts";
import { EventFrame } from "./event-frame.ts";
import type { Renderer } from "./render/renderer.ts";
import type { WireFormat } from "./render/wire-format.ts";
import { BOOKMARK_BEFORE_END_MS, BOOKMARK_INTERVAL_MS } from "./endpoint-limits.ts";

interface WatchStreamOptions {
  readonly clock: Clock;
  readonly served: ServedResource;
  readonly renderer: Renderer;
  readonly start: WatchStart;
  /** Identifies the selectors: watches of a resource with the same selectors select the same changes. */
  readonly selectors: string;
  readonly timeoutMs: number;
  readonly bookmarks: boolean;
  /**
   * True if the bookmark after the initial events has the annotation k8s.io/initial-events-end, for which clients wait.
   */
  readonly marksInitialEnd: boolean;
  /** Counts encoded events. An event that several watches receive is encoded once. */
  readonly encodings: Counter;
  readonly deliveries: Counter;
}

/** The frame that the watches of an audience send for a change. */
type Shown = StreamFrame | "nothing";

/**
 * Number of audiences per change whose decision is kept. Nodes watch with one selector each, so without a limit each
 * change would keep thousands of decisions.
 */
const AUDIENCES_KEPT = 64;

/** The open streams, so that the server can count them and end them, for example those of a CRD that has changed. */
export type OpenWatches = Set<WatchStream>;

export class WatchStream {
  readonly #options: WatchStreamOptions;
  readonly #sink: StreamSink;
  readonly #endsAt: number;
  #initialAt = 0;
  #following: HistoryWatch | undefined;
  #cancelTimer: Cancel = () => {};
  #isEnded = false;
  /** True while an event waits for its conversion. Later events wait too, so that the order is kept. */
  #isConverting = false;
  #renderer: Renderer;
  /** Identifies the watches that send the same bytes for a change. */
  #audience: string;

  constructor(options: WatchStreamOptions, sink: StreamSink) {
    this.#options = options;
    this.#renderer = options.renderer;
    this.#audience = audienceOf(options, options.renderer);
    this.#sink = sink;
    this.#endsAt = options.clock.monotonic() + options.timeoutMs;
  }

  run(open: OpenWatches): void {
    open.add(this);
    this.#sink.onClose(() => {
      this.#release();
      open.delete(this);
    });
    this.#sink.onDrain(() => this.#proceed());
    this.#sink.onEnding?.(() => this.leave());
    if (this.#isEnded) return;
    this.#schedule();
    this.#proceed();
  }

  /** Identifies the state of the CRD with which the stream renders objects; undefined for built-in resources. */
  get definitionKey(): string | undefined {
    return this.#options.served.custom?.key;
  }

  /** True if a webhook may have to convert the objects. */
  get #isConverted(): boolean {
    return this.#options.served.custom?.convert !== undefined;
  }

  /** Ends the stream as a timeout does, so that the client resumes from the last revision that it received. */
  end(): void {
    if (this.#isEnded) return;
    this.#release();
    this.#sink.end();
  }

  /**
   * Ends the stream during shutdown, or when its CRD has changed. If the client asked for bookmarks and has received
   * all events, it first receives a bookmark with the current revision, because the server with which it resumes may
   * have a shorter history.
   */
  leave(): void {
    if (!this.#isEnded) this.#bookmarkIfCurrent();
    this.end();
  }

  #proceed(): void {
    if (this.#isEnded || this.#isConverting) return;
    if (this.#following !== undefined) return this.#following.resume();
    const { initial } = this.#options.start;
    while (this.#initialAt < initial.length) {
      const entry = initial[this.#initialAt++]!;
      const delivery = this.#guarded(() => this.#write(this.#frame({ type: "ADDED", entry })));
      if (delivery === "full" || this.#isEnded) return;
    }
    this.#follow();
  }

  #follow(): void {
    const { start, bookmarks, marksInitialEnd } = this.#options;
    if (bookmarks && marksInitialEnd) this.#sink.write(this.#bookmark(start.revision, INITIAL_EVENTS_END));
    const following = start.follow({
      deliver: (event) => this.#deliver(event),
      fellBehind: () =>
        this.#fail(
          expired("the watch fell too far behind: the history has dropped changes that the watch has not received"),
        ),
    });
    if (this.#isEnded) return following?.stop();
    if (following === undefined) return this.#fail(expired(`too old resource version: ${start.revision}`));
    this.#following = following;
  }

  #deliver(event: CacheEvent): Delivery {
    const known = event.memo.get(this.#audience) as Shown | undefined;
    if (known === undefined) return this.#decide(event);
    if (known === "nothing") return "skipped";
    this.#afterFrame();
    try {
      return this.#write(known);
    } catch (thrown) {
      return this.#failed(thrown);
    }
  }

  /** Decides as the first watch of an audience what the audience sends for a change. */
  #decide(event: CacheEvent): Delivery {
    if (!this.#isConverted) return this.#guarded(() => this.#show(event));
    const { entry, previous } = event;
    return this.#onceConverted(previous === undefined ? [entry] : [entry, previous], () => this.#show(event));
  }

  #show(event: CacheEvent): Delivery {
    const selected = this.#options.start.classify(event);
    if (selected === undefined) {
      rememberShown(event, this.#audience, "nothing");
      return "skipped";
    }
    if (!this.#isConverted) return this.#sendChange(selected, event);
    // An object that no longer matches the selectors is sent in its last matching state with the new revision. This
    // state needs its own conversion.
    return this.#onceConverted([selected.entry], () => this.#sendChange(selected, event));
  }

  /**
   * Calls `work` now, or after the conversion of the entries. In the second case no further events are delivered until
   * then.
   */
  #onceConverted(entries: readonly Entry[], work: () => Delivery): Delivery {
    return this.#guarded(() => {
      const converting = conversionOf(entries, this.#options.served);
      if (converting === undefined) return work();
      this.#isConverting = true;
      converting.then(
        () => this.#afterConversion(work),
        (thrown: unknown) => this.#fail(StatusError.from(thrown)),
      );
      return "full";
    });
  }

  #afterConversion(work: () => Delivery): void {
    this.#isConverting = false;
    if (!this.#isEnded && this.#guarded(work) !== "full") this.#following?.resume();
  }

  /**
   * Ends this watch if an object cannot be rendered. The error must not reach the watch of the store, which all watches
   * share.
   */
  #guarded(work: () => Delivery): Delivery {
    try {
      return work();
    } catch (thrown) {
      return this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): Delivery {
    this.#fail(StatusError.from(thrown));
    return "full";
  }

  #sendChange(selected: SelectedEvent, event: CacheEvent): Delivery {
    const audience = this.#audience;
    const frame = this.#frame(selected, event);
    rememberShown(event, audience, frame);
    return this.#write(frame);
  }

  #write(frame: StreamFrame): Delivery {
    this.#options.deliveries.inc();
    return this.#sink.write(frame) ? "sent" : "full";
  }

  /**
   * Creates one frame for all watches that receive the change in the same representation, so that it is encoded once. The
   * frame of an initial object (`change` is undefined) is not kept, because it would stay in memory as long as the object.
   */
  #frame(selected: SelectedEvent, change?: CacheEvent): StreamFrame {
    const { served, start, encodings } = this.#options;
    const { type, entry } = selected;
    const why = whyUnreadable(entry, served);
    if (why !== undefined) throw start.unreadableError(selected, why);
    const renderer = this.#renderer;
    this.#afterFrame();
    const key = `${type} ${entry.modRevision} ${renderer.key}`;
    const known = change?.memo.get(key) as StreamFrame | undefined;
    if (known !== undefined) return known;
    const decoded = (): JsonObject | undefined => (entry === change?.entry ? change.decoded : undefined);
    const frame = new EventFrame(selected, { renderer, encodings, decoded });
    change?.memo.set(key, frame);
    return frame;
  }

  /** The first frame of a watch may have another form than the following ones. */
  #afterFrame(): void {
    const { following } = this.#renderer;
    if (following === undefined) return;
    this.#renderer = following;
    this.#audience = audienceOf(this.#options, following);
  }

  #bookmark(revision: number, annotations = ""): StreamFrame {
    const metadata = `{"resourceVersion":"${revision}","creationTimestamp":null${annotations}}`;
    return { bytes: this.#renderer.format.event("BOOKMARK", this.#renderer.bookmark(metadata)) };
  }

  #fail(error: StatusError): void {
    if (this.#isEnded) return;
    this.#sink.write(errorFrame(error, this.#renderer.format));
    this.end();
  }

  /** Sets one timer: for the next bookmark or for the end of the watch. */
  #schedule(): void {
    const { clock, bookmarks } = this.#options;
    const left = this.#endsAt - clock.monotonic();
    const untilLast = left - BOOKMARK_BEFORE_END_MS;
    const wait = bookmarks && untilLast > 0 ? Math.min(BOOKMARK_INTERVAL_MS, untilLast) : left;
    this.#cancelTimer = clock.after(Math.max(0, wait), () => {
      if (clock.monotonic() >= this.#endsAt) return this.end();
      this.#bookmarkIfCurrent();
      this.#schedule();
    });
  }

  #bookmarkIfCurrent(): void {
    const { bookmarks, start } = this.#options;
    if (bookmarks && !this.#isConverting && this.#following?.isCurrent() === true)
      this.#sink.write(this.#bookmark(start.currentRevision()));
  }

  #release(): void {
    this.#isEnded = true;
    this.#cancelTimer();
    this.#following?.stop();
  }
}

function audienceOf({ served, selectors }: WatchStreamOptions, { key }: Renderer): string {
  return JSON.stringify(["audience", served.apiVersion, served.custom?.key ?? "", key, selectors]);
}

function rememberShown({ memo }: CacheEvent, audience: string, shown: Shown): void {
  if (memo.size < AUDIENCES_KEPT) memo.set(audience, shown);
}

const INITIAL_EVENTS_END = `,"annotations":{"k8s.io/initial-events-end":"true"}`;

export function errorFrame(error: StatusError, format: WireFormat): StreamFrame {
  return { bytes: format.event("ERROR", format.status(error.toStatus())) };
}
